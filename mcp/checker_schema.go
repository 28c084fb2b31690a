package mcp

import (
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

const (
	maxSchema     = 1 << 20  // bytes of a schema
	maxSchemaPath = 32 << 20 // bytes of the paths of all subschemas: validation keeps them for its errors
	maxSchemaIDs  = 100      // subschemas with an identifier, from which references are resolved
	maxInPlace    = 10_000   // subschemas that apply to one and the same value
)

// A schemaGraph is what validation against a schema can go through: whoever wrote
// the schema decides how often that applies a part of it to a value, and the
// validator itself has no limit. Where it is uncertain which subschema a
// reference names, all that it could name are targets.
type schemaGraph struct {
	nodes map[*jsonschema.Schema]*schemaNode
}

// A schemaIndex finds what references name, while a schemaGraph is made.
type schemaIndex struct {
	graph   *schemaGraph
	byPath  map[string]*jsonschema.Schema
	anchors map[string][]*jsonschema.Schema
	bases   []string // paths of the subschemas with an identifier, and of the root
	paths   int      // bytes of all paths
}

// A schemaNode is what applying a subschema takes, besides applying others.
type schemaNode struct {
	targets  []*jsonschema.Schema // of references
	names    int                  // members that are looked up
	values   int                  // that the value is compared with, and all in them
	literals int                  // bytes that an error can cite
	pattern  int                  // steps of the pattern
	patterns []namePattern
	inPlace  int // subschemas that apply to the same value, itself included; -1 while they are counted
}

// A namePattern is a member of patternProperties.
type namePattern struct {
	re     *regexp.Regexp
	steps  int
	schema *jsonschema.Schema
}

// newSchemaGraph refuses schemas that could not be prepared within bounds.
func newSchemaGraph(root *jsonschema.Schema) (*schemaGraph, error) {
	g := &schemaGraph{map[*jsonschema.Schema]*schemaNode{}}
	x := schemaIndex{graph: g, byPath: map[string]*jsonschema.Schema{}, anchors: map[string][]*jsonschema.Schema{}}
	if err := x.add(root, ""); err != nil {
		return nil, err
	}
	if len(x.bases) > maxSchemaIDs {
		return nil, fmt.Errorf("it has more than %d identifiers", maxSchemaIDs)
	}
	for s, n := range g.nodes {
		for _, ref := range []string{s.Ref, s.DynamicRef} {
			if ref == "" {
				continue
			}
			targets, err := x.resolve(ref)
			if err != nil {
				return nil, err
			}
			n.targets = append(n.targets, targets...)
		}
	}
	for s := range g.nodes {
		if _, err := g.countInPlace(s, 0); err != nil {
			return nil, err
		}
	}
	return g, nil
}

// add adds a subschema and all below it.
func (x *schemaIndex) add(s *jsonschema.Schema, path string) error {
	if s == nil {
		return fmt.Errorf("%.100q is null", path)
	}
	if x.paths += len(path) + 16; x.paths > maxSchemaPath {
		return errors.New("its names are too long for how deeply it is nested")
	}
	if path == "" || s.ID != "" {
		x.bases = append(x.bases, path)
	}
	x.byPath[path] = s
	for _, name := range []string{s.Anchor, s.DynamicAnchor, strings.TrimPrefix(s.ID, "#")} {
		if name != "" {
			x.anchors[name] = append(x.anchors[name], s)
		}
	}
	n := &schemaNode{
		names:    len(s.Properties) + len(s.Required) + len(s.DependentRequired) + len(s.DependencyStrings),
		literals: len(path) + len(s.ID) + len(s.Pattern) + 32,
	}
	x.graph.nodes[s] = n
	if s.Pattern != "" {
		n.pattern = stepsOf(s.Pattern)
	}
	for _, v := range s.Enum {
		n.addLiteral(v)
	}
	if s.Const != nil {
		n.addLiteral(*s.Const)
	}
	for _, name := range s.Required {
		n.literals += len(name)
	}
	for _, lists := range []map[string][]string{s.DependentRequired, s.DependencyStrings} {
		for _, list := range lists {
			n.names += len(list)
			for _, name := range list {
				n.literals += len(name)
			}
		}
	}
	for _, alternatives := range [][]*jsonschema.Schema{s.AnyOf, s.OneOf} {
		for _, a := range alternatives {
			if a != nil {
				n.literals += 32 + len(a.ID) + len(a.Anchor) + len(a.DynamicAnchor)
			}
		}
	}
	for pattern, sub := range s.PatternProperties {
		re, err := regexp.Compile(pattern)
		if err != nil {
			return err
		}
		n.patterns = append(n.patterns, namePattern{re, stepsOf(pattern), sub})
	}
	return x.addBelow(s, path)
}

// schemaFields are the fields of a schema that have others, by keyword.
var schemaFields = func() map[string][]int {
	fields := map[string][]int{}
	for f := range reflect.TypeFor[jsonschema.Schema]().Fields() {
		switch f.Type {
		case reflect.TypeFor[*jsonschema.Schema](), reflect.TypeFor[[]*jsonschema.Schema](), reflect.TypeFor[map[string]*jsonschema.Schema]():
			keyword, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			switch f.Name {
			case "Items", "ItemsArray":
				keyword = "items"
			case "DependencySchemas":
				keyword = "dependencies"
			}
			fields[keyword] = append(fields[keyword], f.Index[0])
		}
	}
	return fields
}()

func (x *schemaIndex) addBelow(s *jsonschema.Schema, path string) error {
	v := reflect.ValueOf(s).Elem()
	for keyword, fields := range schemaFields {
		for _, i := range fields {
			switch sub := v.Field(i).Interface().(type) {
			case *jsonschema.Schema:
				if sub != nil {
					if err := x.add(sub, path+"/"+keyword); err != nil {
						return err
					}
				}
			case []*jsonschema.Schema:
				for i, sub := range sub {
					if err := x.add(sub, path+"/"+keyword+"/"+strconv.Itoa(i)); err != nil {
						return err
					}
				}
			case map[string]*jsonschema.Schema:
				for name, sub := range sub {
					if err := x.add(sub, path+"/"+keyword+"/"+escapePointer.Replace(name)); err != nil {
						return err
					}
				}
			}
		}
	}
	return nil
}

var (
	escapePointer   = strings.NewReplacer("~", "~0", "/", "~1")
	unescapePointer = strings.NewReplacer("~0", "~", "~1", "/")
)

// resolve returns the subschemas that a reference could name.
func (x *schemaIndex) resolve(ref string) (targets []*jsonschema.Schema, err error) {
	u, err := url.Parse(ref)
	if err != nil {
		return nil, err
	}
	if name := u.Fragment; name != "" && name[0] != '/' {
		targets = x.anchors[name]
	} else {
		segments := strings.Split(name, "/")
		for i := range segments {
			segments[i] = escapePointer.Replace(unescapePointer.Replace(segments[i]))
		}
		for _, base := range x.bases {
			if s, ok := x.byPath[base+strings.Join(segments, "/")]; ok {
				targets = append(targets, s)
			}
		}
	}
	if targets == nil {
		return nil, fmt.Errorf("the reference %.100q leads to no part of the schema", ref)
	}
	return targets, nil
}

// applied yields the subschemas that apply to a value if s does. An error in one
// of the alternatives is cited together with those in the others.
func (g *schemaGraph) applied(s *jsonschema.Schema, has func(member string) bool, yield func(_ *jsonschema.Schema, alternative bool)) {
	for _, sub := range s.AllOf {
		yield(sub, false)
	}
	for _, sub := range s.AnyOf {
		yield(sub, true)
	}
	for _, sub := range s.OneOf {
		yield(sub, false)
	}
	for _, sub := range []*jsonschema.Schema{s.Not, s.If, s.Then, s.Else} {
		if sub != nil {
			yield(sub, false)
		}
	}
	for _, all := range []map[string]*jsonschema.Schema{s.DependentSchemas, s.DependencySchemas} {
		for name, sub := range all {
			if has(name) {
				yield(sub, false)
			}
		}
	}
}

// countInPlace counts the subschemas that apply to one value if s does. What a
// schema says about members and items counts for these.
func (g *schemaGraph) countInPlace(s *jsonschema.Schema, depth int) (n int, err error) {
	node := g.nodes[s]
	switch {
	case node.inPlace < 0:
		return 0, errors.New("it refers to itself for one and the same value")
	case node.inPlace > 0:
		return node.inPlace, nil
	case depth > maxInPlace:
		return 0, errInPlace
	}
	node.inPlace = -1
	n = 1
	count := func(sub *jsonschema.Schema, _ bool) {
		if err != nil {
			return
		}
		var below int
		if below, err = g.countInPlace(sub, depth+1); err == nil {
			if n += below; n > maxInPlace {
				err = errInPlace
			}
		}
	}
	for _, target := range node.targets {
		count(target, false)
	}
	g.applied(s, func(string) bool { return true }, count)
	node.inPlace = n
	return n, err
}

var errInPlace = fmt.Errorf("it applies more than %d parts of itself to one and the same value", maxInPlace)

// addLiteral adds a decoded value that the schema compares others with.
func (n *schemaNode) addLiteral(v any) {
	n.values++
	n.literals += 8
	switch v := v.(type) {
	case string:
		n.literals += len(v)
	case []any:
		for _, v := range v {
			n.addLiteral(v)
		}
	case map[string]any:
		for name, v := range v {
			n.literals += len(name)
			n.addLiteral(v)
		}
	}
}
