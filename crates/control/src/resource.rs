//! The resources that may limit admission.

use serde::Serialize;
use std::array;

/// A resource that may limit admission.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Resource {
    /// Which one.
    pub resource: ResourceName,
    /// CPU seconds per second that it has.
    pub capacity_cpus: f64,
    /// CPU seconds per second used over about the last second; `None`: unknown.
    pub used_cpus: Option<f64>,
}

/// The resources that may limit admission.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ResourceName {
    /// The gate's processors.
    Gate,
    /// The upstream's processors.
    Upstream,
    /// Processors of upstreams that routes name, where neither the gate nor the upstream works
    /// on them.
    Routed,
    /// Processors that gate and upstream share.
    Host,
}

impl ResourceName {
    /// All, in the order of [`ByResource::iter`].
    pub const ALL: [Self; 4] = [Self::Gate, Self::Upstream, Self::Routed, Self::Host];

    /// The name as text.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Gate => "gate",
            Self::Upstream => "upstream",
            Self::Routed => "routed",
            Self::Host => "host",
        }
    }
}

/// A value for each resource in view. Of fixed size: it allocates nothing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ByResource<T>([Option<T>; ResourceName::ALL.len()]);

impl<T> Default for ByResource<T> {
    fn default() -> Self {
        Self(array::from_fn(|_| None))
    }
}

impl<T> ByResource<T> {
    /// The value of a resource; `None` where it is out of view.
    pub fn get(&self, name: ResourceName) -> Option<&T> {
        self.0[name as usize].as_ref()
    }

    /// The value of a resource, to be changed; the default where there was none.
    pub fn entry(&mut self, name: ResourceName) -> &mut T
    where
        T: Default,
    {
        self.0[name as usize].get_or_insert_default()
    }

    /// Sets the value of a resource; `None` takes it out of view.
    pub fn set(&mut self, name: ResourceName, value: impl Into<Option<T>>) {
        self.0[name as usize] = value.into();
    }

    /// The same with another value of a resource.
    #[must_use]
    pub fn with(mut self, name: ResourceName, value: impl Into<Option<T>>) -> Self {
        self.set(name, value);
        self
    }

    /// The resources in view with their values, the gate first.
    pub fn iter(&self) -> impl Iterator<Item = (ResourceName, &T)> {
        let values = ResourceName::ALL.into_iter().zip(&self.0);
        values.filter_map(|(name, value)| Some((name, value.as_ref()?)))
    }

    /// Other values of the same resources.
    pub fn map<U>(self, mut of: impl FnMut(ResourceName, T) -> U) -> ByResource<U> {
        let mut names = ResourceName::ALL.into_iter();
        ByResource(self.0.map(|value| names.next().zip(value).map(|(name, value)| of(name, value))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resources_out_of_view_are_left_out_and_the_gate_is_first() {
        let values = ByResource::default().with(ResourceName::Host, 3).with(ResourceName::Gate, 1);
        let seen: Vec<_> = values.iter().map(|(name, value)| (name, *value)).collect();
        assert_eq!(seen, [(ResourceName::Gate, 1), (ResourceName::Host, 3)]);
        let named = values.map(|name, value| format!("{} {value}", name.as_str()));
        assert_eq!(named.get(ResourceName::Host).unwrap(), "host 3");
        assert_eq!(named.with(ResourceName::Host, None).get(ResourceName::Host), None);
    }
}
