package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"sync"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/jsonschema-go/jsonschema"
)

// A checker validates JSON against a schema.
type checker struct {
	full  *jsonschema.Resolved
	graph *schemaGraph
	quick *quickChecker // nil if the schema has keywords that it does not support
	steps int           // of all patterns
}

// newChecker prepares a schema. It rejects references to other documents,
// patterns that would take much memory, and a schema that applies to one value
// without end, or too often.
func newChecker(schema json.RawMessage) (*checker, error) {
	if len(schema) > maxSchema {
		return nil, fmt.Errorf("not a usable JSON Schema: it has more than %d KiB", maxSchema>>10)
	}
	steps := patternSize(schema)
	if steps > maxPatterns {
		return nil, errors.New("not a usable JSON Schema: its patterns are too large")
	}
	s := new(jsonschema.Schema)
	if err := s.UnmarshalJSON(schema); err != nil {
		return nil, fmt.Errorf("not a JSON Schema: %w", err)
	}
	graph, err := newSchemaGraph(s)
	if err != nil {
		return nil, fmt.Errorf("not a usable JSON Schema: %w", err)
	}
	full, err := s.Resolve(nil)
	if err != nil {
		return nil, fmt.Errorf("not a usable JSON Schema: %w", err)
	}
	return &checker{full: full, graph: graph, quick: newQuickChecker(schema), steps: steps}, nil
}

// A lateChecker is a checker that is prepared again when it is needed first:
// prepared, a schema takes up to a hundred times its size, and of many tools
// most are never called.
type lateChecker struct {
	schema json.RawMessage
	once   sync.Once
	c      *checker
}

// newLateChecker returns nil and the error if the schema cannot be used.
func newLateChecker(schema json.RawMessage) (*lateChecker, error) {
	if _, err := newChecker(schema); err != nil {
		return nil, err
	}
	return &lateChecker{schema: schema}, nil
}

func (l *lateChecker) check(value json.RawMessage) error {
	l.once.Do(func() { l.c, _ = newChecker(l.schema) }) // it worked before
	return l.c.check(value)
}

// largeValue is the size in bytes from which only a few values are validated at a time.
// Full validation takes up to fifty times the size in memory, and more of it at
// once would not be faster.
const (
	largeValue = 64 << 10
	hugeValue  = 1 << 20 // one at a time
)

var (
	largeSlots = make(chan struct{}, 4)
	hugeSlot   = make(chan struct{}, 1)
)

// check validates a value. The error tells a model what to fix.
func (c *checker) check(value json.RawMessage) error {
	if c.quick != nil && c.steps*len(value)/stepsPerUnit <= maxEffort {
		if c.quick.accepts(value) {
			return nil
		}
		if why := c.quick.violation("", value); why != "" {
			return errors.New(why)
		}
	}
	if len(value) > largeValue {
		largeSlots <- struct{}{}
		defer func() { <-largeSlots }()
	}
	if len(value) > hugeValue {
		hugeSlot <- struct{}{}
		defer func() { <-hugeSlot }()
	}
	var v any
	if err := jsonv2.Unmarshal(value, &v, clampNumbers); err != nil {
		return fmt.Errorf("%s", plainError(err))
	}
	if err := c.graph.checkEffort(c.full.Schema(), v, len(value)); err != nil {
		return err
	}
	if err := c.full.Validate(v); err != nil {
		return errors.New(plainViolation(err.Error()))
	}
	return nil
}

// clampNumbers decodes a number beyond float64 as the largest float64. Whether
// the tool accepts it is not for the decoder to decide.
var clampNumbers = jsonv2.WithUnmarshalers(jsonv2.UnmarshalFromFunc(func(d *jsontext.Decoder, v *any) error {
	if d.PeekKind() != '0' {
		return errors.ErrUnsupported
	}
	text, err := d.ReadValue()
	if err != nil {
		return err
	}
	f, _ := strconv.ParseFloat(string(text), 64) // the error only means overflow
	*v = min(max(f, -math.MaxFloat64), math.MaxFloat64)
	return nil
}))

var violationSteps = regexp.MustCompile(`validating (?:root|/\S*?([^/\s]+)): `)

// plainViolation shortens an error text of jsonschema-go: it names the property
// instead of the path through the schema.
func plainViolation(text string) string {
	at := ""
	for _, step := range violationSteps.FindAllStringSubmatch(text, -1) {
		if step[1] != "" {
			at = step[1]
		}
	}
	text = violationSteps.ReplaceAllString(text, "")
	for _, keyword := range []string{"type: ", "required: "} { // redundant
		text = strings.TrimPrefix(text, keyword)
	}
	if at != "" {
		text = at + ": " + text
	}
	const maxText = 300 // it may contain the whole value
	if len(text) > maxText {
		text = strings.ToValidUTF8(text[:maxText], "") + "…"
	}
	return text
}
