//! placeholder
use crate::reading::Reading;
#[derive(Clone, Debug)]
pub(crate) struct Service {}
impl Service {
    pub(crate) fn new() -> Self {
        Self {}
    }
    pub(crate) fn observe(&mut self, _r: &Reading, _i: f64) {}
    pub(crate) fn new_per_s(&self, _w: f64, _i: f64) -> f64 {
        f64::INFINITY
    }
    pub(crate) fn why(&self) -> String {
        String::new()
    }
}
