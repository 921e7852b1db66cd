//! The tree of fields and its algebra.

use super::element::{Element, Path};

/// A set of fields, as a tree: a node may be a member, have members below it, or both.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Set {
    /// Sorted by element, each element once; none is neither member nor parent of one.
    pub(super) nodes: Vec<Node>,
}

/// A field of a set and what is below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Node {
    /// The step to it.
    pub(super) element: Element,
    /// Whether the field itself is in the set.
    pub(super) member: bool,
    /// What is in the set below it.
    pub(super) children: Set,
}

impl Node {
    fn is_needed(&self) -> bool {
        self.member || !self.children.is_empty()
    }
}

impl Set {
    /// No field.
    pub const fn new() -> Self {
        Self { nodes: Vec::new() }
    }

    /// The fields at these paths of plain names.
    pub fn of_fields(paths: &[&[&str]]) -> Self {
        let mut set = Self::new();
        for path in paths {
            set.insert(&path.iter().map(|name| Element::field(name)).collect::<Path>());
        }
        set
    }

    /// Whether no field is in it.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// How many fields are in it.
    pub fn len(&self) -> usize {
        self.nodes.iter().map(|node| usize::from(node.member) + node.children.len()).sum()
    }

    /// Adds a field, not its parents. The whole object is no field: nobody owns it.
    pub fn insert(&mut self, path: &[Element]) {
        let Some((first, rest)) = path.split_first() else { return };
        let node = self.node(first);
        if rest.is_empty() {
            node.member = true;
        } else {
            node.children.insert(rest);
        }
    }

    /// Whether a field is in it.
    pub fn has(&self, path: &[Element]) -> bool {
        match path.split_first() {
            None => false,
            Some((first, [])) => self.find(first).is_some_and(|node| node.member),
            Some((first, rest)) => self.find(first).is_some_and(|node| node.children.has(rest)),
        }
    }

    /// Whether the field at one step is in it.
    pub(crate) fn has_member(&self, element: &Element) -> bool {
        self.find(element).is_some_and(|node| node.member)
    }

    /// What is below a step.
    pub(crate) fn below(&self, element: &Element) -> Option<&Self> {
        self.find(element).map(|node| &node.children).filter(|children| !children.is_empty())
    }

    /// What is in either.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        let mut both = self.clone();
        both.absorb(other.clone());
        both
    }

    /// Adds the fields of another set.
    pub fn absorb(&mut self, other: Self) {
        if self.is_empty() {
            *self = other;
            return;
        }
        // From the back, so that what is found and what is inserted stays sorted.
        let mut end = self.nodes.len();
        for node in other.nodes.into_iter().rev() {
            match self.nodes[..end].binary_search_by(|mine| mine.element.cmp(&node.element)) {
                Ok(at) => {
                    let mine = &mut self.nodes[at];
                    mine.member |= node.member;
                    mine.children.absorb(node.children);
                    end = at;
                }
                Err(at) => {
                    self.nodes.insert(at, node);
                    end = at;
                }
            }
        }
    }

    /// Takes out the fields of another set; fields below and above them stay.
    pub fn remove_all(&mut self, other: &Self) {
        if self.is_empty() || other.is_empty() {
            return;
        }
        let mut theirs = other.nodes.as_slice();
        self.nodes.retain_mut(|node| {
            while let [first, rest @ ..] = theirs
                && first.element < node.element
            {
                theirs = rest;
            }
            if let [first, ..] = theirs
                && first.element == node.element
            {
                node.member &= !first.member;
                node.children.remove_all(&first.children);
            }
            node.is_needed()
        });
    }

    /// What is in both.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        let both = self.common(other).filter_map(|(a, b)| {
            let (member, children) = (a.member && b.member, a.children.intersection(&b.children));
            let is_needed = member || !children.is_empty();
            is_needed.then(|| Node { element: a.element.clone(), member, children })
        });
        Self { nodes: both.collect() }
    }

    /// What is in this set only. A field stays when its parent or child is in the other.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Self {
        let mut rest = self.clone();
        rest.remove_all(other);
        rest
    }

    /// What is in this set only, without anything below the other's members.
    #[must_use]
    pub fn recursive_difference(mut self, other: &Self) -> Self {
        self.prune(other);
        self
    }

    /// Takes out the fields of another set with all that is below them.
    fn prune(&mut self, other: &Self) {
        for theirs in &other.nodes {
            let Ok(at) = self.nodes.binary_search_by(|node| node.element.cmp(&theirs.element)) else {
                continue;
            };
            let mine = &mut self.nodes[at];
            if !theirs.member {
                mine.children.prune(&theirs.children);
            }
            if theirs.member || !mine.is_needed() {
                self.nodes.remove(at);
            }
        }
    }

    /// The members without members below them.
    #[must_use]
    pub fn leaves(&self) -> Self {
        let nodes = self.nodes.iter().map(|node| Node {
            element: node.element.clone(),
            member: node.member && node.children.is_empty(),
            children: node.children.leaves(),
        });
        Self { nodes: nodes.collect() }
    }

    /// Calls `visit` for each field: at each level first the fields there, then those below.
    pub fn for_each(&self, visit: &mut dyn FnMut(&[Element])) {
        self.walk(&mut Vec::new(), visit);
    }

    /// Whether both have a field in common.
    pub fn intersects(&self, other: &Self) -> bool {
        self.common(other).any(|(a, b)| (a.member && b.member) || a.children.intersects(&b.children))
    }

    /// Adds a node, known not to be there, at the end; [`Set::settle`] puts it in its place.
    pub(super) fn push(&mut self, element: Element, member: bool, children: Self) {
        if member || !children.is_empty() {
            self.nodes.push(Node { element, member, children });
        }
    }

    /// Restores the order after [`Set::push`].
    pub(super) fn settle(&mut self) {
        if !self.nodes.is_sorted_by(|a, b| a.element < b.element) {
            self.nodes.sort_by(|a, b| a.element.cmp(&b.element));
            self.nodes.dedup_by(|later, first| {
                let same = later.element == first.element;
                if same {
                    first.member |= later.member;
                    first.children = first.children.union(&later.children);
                }
                same
            });
        }
    }

    /// The node of an element, made where it is not there yet. The caller gives it a meaning.
    pub(super) fn node(&mut self, element: &Element) -> &mut Node {
        let at = match self.nodes.binary_search_by(|node| node.element.cmp(element)) {
            Ok(at) => at,
            Err(at) => {
                let node = Node { element: element.clone(), member: false, children: Self::new() };
                self.nodes.insert(at, node);
                at
            }
        };
        &mut self.nodes[at]
    }

    fn common<'a>(&'a self, other: &'a Self) -> Common<'a> {
        Common { left: &self.nodes, right: &other.nodes }
    }

    fn find(&self, element: &Element) -> Option<&Node> {
        let at = self.nodes.binary_search_by(|node| node.element.cmp(element)).ok()?;
        Some(&self.nodes[at])
    }

    /// The set with nodes changed by `change`, those that mean nothing any more dropped.
    pub(super) fn map(&self, mut change: impl FnMut(&Node) -> Node) -> Self {
        Self { nodes: self.nodes.iter().map(&mut change).filter(Node::is_needed).collect() }
    }

    fn walk(&self, path: &mut Path, visit: &mut dyn FnMut(&[Element])) {
        for node in self.nodes.iter().filter(|node| node.member) {
            path.push(node.element.clone());
            visit(path);
            path.pop();
        }
        for node in self.nodes.iter().filter(|node| !node.children.is_empty()) {
            path.push(node.element.clone());
            node.children.walk(path, visit);
            path.pop();
        }
    }
}

/// The nodes that two sorted levels have both.
struct Common<'a> {
    left: &'a [Node],
    right: &'a [Node],
}

impl<'a> Iterator for Common<'a> {
    type Item = (&'a Node, &'a Node);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let ((a, left), (b, right)) = (self.left.split_first()?, self.right.split_first()?);
            let order = a.element.cmp(&b.element);
            if order.is_le() {
                self.left = left;
            }
            if order.is_ge() {
                self.right = right;
            }
            if order.is_eq() {
                return Some((a, b));
            }
        }
    }
}
