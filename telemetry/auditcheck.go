package telemetry

import (
	"bufio"
	"fmt"
	"io"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
)

// An AuditCheck reads the files of an audit stream, in order, and finds what does not fit together.
type AuditCheck struct {
	// Lines counts the lines; Unchained are those before the first that names the one before, as older versions wrote them.
	Lines, Unchained int
	// Torn counts the lines that the server could not write whole, because it was killed or its disk was full.
	Torn int
	// First and Last are the times of the first and the last line.
	First, Last time.Time
	// Before is the hash of the line that the first one names, if that is in no file that was read. Head is the hash of the last line.
	Before, Head string
	// Faults are the places where lines were changed, added or taken out.
	Faults []AuditFault
	// Seen reports whether a line has the hash that the check was asked to find.
	Seen bool

	find    string
	chained bool
}

// An AuditFault is a place where an audit stream does not fit together.
type AuditFault struct {
	File string
	Line int
	Why  string
}

func (f AuditFault) String() string { return fmt.Sprintf("%s, line %d: %s", f.File, f.Line, f.Why) }

// maxAuditFaults is how many faults are reported.
const maxAuditFaults = 100

// NewAuditCheck returns a check that also looks for the line with a hash, unless that is empty.
func NewAuditCheck(find string) *AuditCheck { return &AuditCheck{find: find, Seen: find == ""} }

// Read checks one more file, which goes on from the one before.
func (c *AuditCheck) Read(name string, r io.Reader) error {
	in := bufio.NewScanner(r)
	in.Buffer(make([]byte, 64<<10), maxAuditLine+1)
	n := 0
	for in.Scan() {
		n++
		c.line(name, n, in.Bytes())
	}
	if err := in.Err(); err != nil {
		return fmt.Errorf("%s, line %d: %w", name, n+1, err)
	}
	return nil
}

func (c *AuditCheck) line(name string, n int, text []byte) {
	var x struct {
		Time time.Time `json:"time"`
		Prev *string   `json:"prev"`
	}
	c.Lines++
	err := jsonv2.Unmarshal(text, &x)
	switch {
	case err != nil && c.chained:
		c.Torn++ // the next line names its hash, else it was changed
	case err != nil:
		c.fault(name, n, "it is not a line of an audit stream")
	case x.Prev == nil && c.chained:
		c.fault(name, n, "it does not name the line before: it was added or changed")
	case x.Prev == nil:
		c.Unchained++
	case !c.chained && *x.Prev == "" && n > 1:
		c.fault(name, n, "the stream begins here, but there are lines before: they were added")
	case !c.chained && *x.Prev == "":
	case !c.chained && c.Lines > 1 && *x.Prev != c.Head:
		c.fault(name, n, "the line before it was changed, or lines were taken out")
	case !c.chained && c.Lines == 1:
		c.Before = *x.Prev
	case !c.chained:
	case *x.Prev == "":
		c.fault(name, n, "a new stream begins here: the file before was not there when the server started, or lines were taken out")
	case *x.Prev != c.Head:
		c.fault(name, n, "the line before it was changed, or lines were taken out or added")
	}
	c.chained = c.chained || err == nil && x.Prev != nil
	if err == nil && !x.Time.IsZero() {
		if c.Last = x.Time; c.First.IsZero() {
			c.First = x.Time
		}
	}
	c.Head = lineHash(text)
	c.Seen = c.Seen || c.Head == c.find
}

func (c *AuditCheck) fault(name string, n int, why string) {
	if len(c.Faults) < maxAuditFaults {
		c.Faults = append(c.Faults, AuditFault{name, n, why})
	}
}
