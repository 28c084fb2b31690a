package mcp

// A Revision is one dated edition of the protocol. Revisions are ordered: a
// later edition compares greater. The zero Revision is not valid.
type Revision uint8

// The revisions, by their dates.
const (
	R20241105 Revision = iota + 1
	R20250326
	R20250618
	R20251125
	R20260728

	// LatestRevision is the latest revision, for which features are written.
	LatestRevision = R20260728

	// newestLegacy is the latest revision with a handshake. initialize selects
	// it if the client offers an unknown revision.
	newestLegacy = R20251125
)

// An edition holds the facts that differ between revisions. The zero values are
// those of an unknown revision.
type edition struct {
	name     string
	notFound int // error code for an unknown resource

	batches       bool // several messages may arrive as one array
	resumable     bool // a broken event stream can be resumed
	primed        bool // an event stream begins with an event that only has an id
	versionHeader bool // HTTP requests name the revision in a header
	routingHeader bool // HTTP requests name the method, and often its target, in headers
	stateless     bool // no handshake: each request identifies its sender

	outcome               bool // a tool result says isError: false as well as true
	argsAsToolError       bool // arguments that fail a tool's schema are isError, not -32602
	errorWithoutID        bool // an error about an unknown id omits the id, rather than using null
	progressMessage       bool // progress may carry a message
	completionsCapability bool // completions are declared as a capability

	audio         bool // content may be audio
	links         bool // content may be a link to a resource
	structured    bool // tool results may have an object as structured content
	anyStructured bool // structured content may be any JSON value
	richForms     bool // forms may have titled and multi-select choices
	richSampling  bool // sampling messages may have several blocks, and tools
}

var editions = [...]edition{
	R20241105: {name: "2024-11-05", notFound: -32002, outcome: true},
	R20250326: {
		name: "2025-03-26", notFound: -32002, batches: true, resumable: true,
		outcome: true, progressMessage: true, completionsCapability: true,
		audio: true,
	},
	R20250618: {
		name: "2025-06-18", notFound: -32002, resumable: true, versionHeader: true,
		outcome: true, progressMessage: true, completionsCapability: true,
		audio: true, links: true, structured: true,
	},
	R20251125: {
		name: "2025-11-25", notFound: -32002, resumable: true, primed: true, versionHeader: true,
		argsAsToolError: true, errorWithoutID: true, progressMessage: true, completionsCapability: true,
		audio: true, links: true, structured: true, richForms: true, richSampling: true,
	},
	R20260728: {
		name: "2026-07-28", notFound: -32602, versionHeader: true, routingHeader: true, stateless: true,
		argsAsToolError: true, errorWithoutID: true, progressMessage: true, completionsCapability: true,
		audio: true, links: true, structured: true, anyStructured: true, richForms: true, richSampling: true,
	},
}

// ParseRevision returns the revision with a date such as "2025-11-25". It
// returns false for any other text.
func ParseRevision(name string) (Revision, bool) {
	for r := R20241105; r <= LatestRevision; r++ {
		if editions[r].name == name {
			return r, true
		}
	}
	return 0, false
}

// Revisions returns all revisions, oldest first, in a new slice.
func Revisions() []Revision {
	return []Revision{R20241105, R20250326, R20250618, R20251125, R20260728}
}

// String returns the date that identifies the revision in messages, or "" for
// the zero Revision.
func (r Revision) String() string { return editions[r].name }

// batches reports whether several messages may arrive as one array.
func (r Revision) batches() bool { return editions[r].batches }

// resumable reports whether a broken event stream can be resumed.
func (r Revision) resumable() bool { return editions[r].resumable }

// primed reports whether an event stream begins with an event that only has an
// id, so that it can be resumed even if nothing else arrives.
func (r Revision) primed() bool { return editions[r].primed }

// versionHeader reports whether HTTP requests name the revision in a header.
func (r Revision) versionHeader() bool { return editions[r].versionHeader }

// routingHeader reports whether HTTP requests name their method in a header.
func (r Revision) routingHeader() bool { return editions[r].routingHeader }

// Stateless reports whether each request identifies its sender, without a
// handshake.
func (r Revision) Stateless() bool { return editions[r].stateless }

// errorWithoutID reports whether an error response to no particular request
// omits its id. Otherwise it is null.
func (r Revision) errorWithoutID() bool { return editions[r].errorWithoutID }

func (r Revision) notFound() int               { return editions[r].notFound }
func (r Revision) outcome() bool               { return editions[r].outcome }
func (r Revision) argsAsToolError() bool       { return editions[r].argsAsToolError }
func (r Revision) progressMessage() bool       { return editions[r].progressMessage }
func (r Revision) completionsCapability() bool { return editions[r].completionsCapability }
func (r Revision) audio() bool                 { return editions[r].audio }
func (r Revision) links() bool                 { return editions[r].links }
func (r Revision) structured() bool            { return editions[r].structured }
func (r Revision) anyStructured() bool         { return editions[r].anyStructured }
func (r Revision) richForms() bool             { return editions[r].richForms }
func (r Revision) richSampling() bool          { return editions[r].richSampling }
