//! Decision tables: which rule holds for which combination of facts.
//!
//! Pure: facts and values are numbers. The first rule that fits holds.

/// A table.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// How many values each fact has.
    pub sizes: Vec<usize>,
    /// For each rule and fact the values that fit; `None` for all of them.
    pub rules: Vec<Vec<Option<Vec<usize>>>>,
}

impl Table {
    /// How many combinations there are.
    pub fn combinations(&self) -> usize {
        self.sizes.iter().fold(1, |product, size| product.saturating_mul(*size))
    }

    /// Every combination, the last fact changing fastest.
    pub fn each(&self) -> impl Iterator<Item = Vec<usize>> {
        (0..self.combinations()).map(|mut number| {
            let mut values = vec![0; self.sizes.len()];
            for (value, size) in values.iter_mut().zip(&self.sizes).rev() {
                *value = number % size;
                number /= size;
            }
            values
        })
    }

    /// The rule that holds for a combination.
    pub fn decide(&self, values: &[usize]) -> Option<usize> {
        self.rules.iter().position(|rule| fits(rule, values))
    }
}

/// Whether a combination has the values that are asked for.
pub fn fits(wanted: &[Option<Vec<usize>>], values: &[usize]) -> bool {
    wanted.iter().zip(values).all(|(wanted, value)| wanted.as_ref().is_none_or(|all| all.contains(value)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_rule_that_fits_holds() {
        let table =
            Table { sizes: vec![2, 3], rules: vec![vec![Some(vec![0]), None], vec![None, Some(vec![0, 2])]] };
        let decided: Vec<_> = table.each().map(|values| (values.clone(), table.decide(&values))).collect();
        assert_eq!(
            decided,
            [
                (vec![0, 0], Some(0)),
                (vec![0, 1], Some(0)),
                (vec![0, 2], Some(0)),
                (vec![1, 0], Some(1)),
                (vec![1, 1], None),
                (vec![1, 2], Some(1)),
            ]
        );
        assert_eq!(Table::default().each().count(), 1, "no facts have one combination");
    }
}
