//! The program: see the library.

fn main() -> std::process::ExitCode {
    tidegate_bench::main()
}
