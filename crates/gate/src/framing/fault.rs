//! What a message breaks.

/// A breach of the grammar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Where it is.
    pub part: Part,
    /// What was broken.
    pub rule: Rule,
}

/// A part of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The start line and the header fields.
    Head,
    /// The chunks of a body.
    Chunk,
    /// The fields after the last chunk.
    Trailer,
}

/// A rule of the grammar, or a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// Lines end with CR LF.
    LineEnd,
    /// Method, target and version, one space between them; or version, status and
    /// reason.
    StartLine,
    /// The version is HTTP/1.0 or HTTP/1.1.
    Version,
    /// The target has no fragment.
    Fragment,
    /// The target consists of characters that a URL may have.
    Target,
    /// The target is within the limit of the HTTP library.
    TargetLength,
    /// A field begins with a name, and a colon follows it at once.
    FieldName,
    /// A field's value has no control character.
    FieldValue,
    /// A field is one line (obsolete line folding).
    Folding,
    /// The head or the trailers are within their limit of bytes.
    Bytes,
    /// The head or the trailers are within their limit of fields.
    Fields,
    /// Content-Length is one number.
    Length,
    /// There is no Transfer-Encoding beside a Content-Length.
    TwoLengths,
    /// The last transfer coding is chunked, and the version has transfer codings.
    Coding,
    /// A chunk begins with its size, and its extensions are within the limit.
    ChunkSize,
    /// A chunk ends where its size says.
    ChunkEnd,
    /// Nothing follows a request for a WebSocket before its answer.
    EarlyBytes,
}

impl Rule {
    /// What is wrong, as a clause after "because".
    pub const fn text(self) -> &'static str {
        match self {
            Self::LineEnd => "a line does not end with CR LF",
            Self::StartLine => "its first line is malformed",
            Self::Version => "its version is neither HTTP/1.0 nor HTTP/1.1",
            Self::Fragment => "its target has a fragment",
            Self::Target => {
                "its target is not a URL: quotation marks, backticks, angle brackets and bytes that \
                 are not UTF-8 must be percent-encoded"
            }
            Self::TargetLength => "its target is longer than 65,534 bytes",
            Self::FieldName => "the name of a field is malformed",
            Self::FieldValue => "the value of a field has a control character",
            Self::Folding => "a field is folded over several lines",
            Self::Bytes => "its fields are too long",
            Self::Fields => "it has too many fields",
            Self::Length => "its Content-Length is not one number",
            Self::TwoLengths => {
                "it gives its length twice, by Content-Length and by Transfer-Encoding"
            }
            Self::Coding => "its last Transfer-Encoding is not chunked, or its version has none",
            Self::ChunkSize => "the size of a chunk is malformed",
            Self::ChunkEnd => "a chunk does not end where its size says",
            Self::EarlyBytes => "bytes follow a request for a WebSocket before its answer",
        }
    }
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let part = match self.part {
            Part::Head => "head",
            Part::Chunk => "chunk",
            Part::Trailer => "trailer",
        };
        write!(f, "malformed {part}: {}", self.rule.text())
    }
}

impl std::error::Error for Fault {}
