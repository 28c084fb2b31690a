package mcp

import (
	"errors"

	"github.com/google/jsonschema-go/jsonschema"
)

const (
	// maxEffort is what checking a value may take, besides an amount in proportion
	// to the value's size. A unit is up to about a microsecond.
	maxEffort     = 1_000_000
	maxCheckDepth = 5_000 // subschemas that are applied inside one another
	unitsPerByte  = 10    // of the value
	bytesPerUnit  = 64    // of text that is written
	stepsPerUnit  = 64    // of a regular expression
	namesPerUnit  = 16    // that are looked up
)

var errEffort = errors.New("checking this against the schema would take too long")

// An effort estimates, from above, what validation of one value takes. It goes
// the ways that validation can go, but each pair of a subschema and a value only
// once: a schema that refers to itself twice would double the work with each
// level of the value.
type effort struct {
	graph *schemaGraph
	left  int
	known map[schemaPair]pairEffort
}

// A schemaPair is a subschema that a reference names, and a value that it applies to.
type schemaPair struct {
	schema *jsonschema.Schema
	value  *checkedValue
}

type pairEffort struct {
	spent int
	reach
}

// reach is how far validation of a pair can go.
type reach struct {
	text  int // bytes of its error, which has all errors of alternatives
	depth int
}

// A checkedValue is a decoded value with its size.
type checkedValue struct {
	text   string // if it is a string
	object map[string]any
	names  []string // of the members that are below
	below  []checkedValue
	size   int
}

func newCheckedValue(v any) (c checkedValue) {
	c.size = 8
	switch v := v.(type) {
	case string:
		c.text, c.size = v, len(v)+2
	case []any:
		c.below = make([]checkedValue, len(v))
		for i, v := range v {
			c.below[i] = newCheckedValue(v)
			c.size += c.below[i].size + 1
		}
	case map[string]any:
		c.object = v
		c.names, c.below = make([]string, 0, len(v)), make([]checkedValue, 0, len(v))
		for name, v := range v {
			c.names, c.below = append(c.names, name), append(c.below, newCheckedValue(v))
			c.size += c.below[len(c.below)-1].size + len(name) + 4
		}
	}
	return c
}

// checkEffort returns an error if validation could take more than size and
// maxEffort allow.
func (g *schemaGraph) checkEffort(root *jsonschema.Schema, v any, size int) error {
	value := newCheckedValue(v)
	e := &effort{graph: g, left: maxEffort + unitsPerByte*size, known: map[schemaPair]pairEffort{}}
	if e.apply(root, &value, 1); e.left < 0 {
		return errEffort
	}
	return nil
}

// apply takes what applying a subschema to a value costs from e.left. It stops when
// nothing is left.
func (e *effort) apply(s *jsonschema.Schema, v *checkedValue, depth int) reach {
	node := e.graph.nodes[s]
	r := reach{text: v.size + node.literals, depth: 1}
	if e.left -= 1 + node.values + node.names/namesPerUnit + node.pattern*len(v.text)/stepsPerUnit; e.left < 0 {
		return r
	}
	if depth > maxCheckDepth {
		e.left = -1
		return r
	}
	if s.UniqueItems {
		e.left -= v.size / 8
	}
	include := func(below reach, alternative bool) {
		if r.depth = max(r.depth, below.depth+1); alternative {
			r.text += below.text
		} else {
			r.text = max(r.text, below.text+node.literals)
		}
	}
	for _, target := range node.targets {
		include(e.follow(target, v, depth+1), false)
	}
	has := func(name string) bool { _, ok := v.object[name]; return ok }
	e.graph.applied(s, has, func(sub *jsonschema.Schema, alternative bool) {
		if e.left >= 0 {
			include(e.apply(sub, v, depth+1), alternative)
		}
	})
	below := func(sub *jsonschema.Schema, v *checkedValue) {
		if sub != nil && e.left >= 0 {
			include(e.apply(sub, v, depth+1), false)
		}
	}
	if v.object != nil {
		e.members(s, v, below)
	} else {
		e.items(s, v, below)
	}
	e.left -= r.text / bytesPerUnit
	return r
}

// follow is apply for the target of a reference.
func (e *effort) follow(s *jsonschema.Schema, v *checkedValue, depth int) reach {
	pair := schemaPair{s, v}
	if known, ok := e.known[pair]; ok {
		if e.left -= known.spent; depth+known.depth > maxCheckDepth {
			e.left = -1
		}
		return known.reach
	}
	before := e.left
	r := e.apply(s, v, depth)
	if e.left >= 0 {
		e.known[pair] = pairEffort{before - e.left, r}
	}
	return r
}

func (e *effort) items(s *jsonschema.Schema, v *checkedValue, below func(*jsonschema.Schema, *checkedValue)) {
	for i := range v.below {
		if e.left < 0 {
			return
		}
		item := &v.below[i]
		if i < len(s.PrefixItems) {
			below(s.PrefixItems[i], item)
		} else {
			below(s.Items, item)
		}
		if i < len(s.ItemsArray) {
			below(s.ItemsArray[i], item)
		} else {
			below(s.AdditionalItems, item)
		}
		below(s.Contains, item)
		below(s.UnevaluatedItems, item)
	}
}

func (e *effort) members(s *jsonschema.Schema, v *checkedValue, below func(*jsonschema.Schema, *checkedValue)) {
	patterns := e.graph.nodes[s].patterns
	for i, name := range v.names {
		if e.left < 0 {
			return
		}
		member := &v.below[i]
		property, known := s.Properties[name]
		below(property, member)
		for _, p := range patterns {
			if e.left -= 1 + p.steps*len(name)/stepsPerUnit; e.left < 0 {
				return
			}
			if p.re.MatchString(name) {
				below(p.schema, member)
				known = true
			}
		}
		if !known {
			below(s.AdditionalProperties, member)
		}
		below(s.UnevaluatedProperties, member)
		if s.PropertyNames != nil {
			below(s.PropertyNames, &checkedValue{text: name, size: len(name)})
		}
	}
}
