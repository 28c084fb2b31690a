package mcp

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// A jsonField is a field of a struct that is a member of its JSON object.
type jsonField struct {
	reflect.StructField
	name          string // of the member
	index         []int
	named         bool // by its tag
	omits         bool // it has the option omitempty or omitzero
	quoted        bool // it has the option string
	behindPointer bool // it is promoted from an embedded pointer, which may be nil
}

// fields returns the members of a struct in the order in which they are encoded,
// by the rules of encoding/json: fields of embedded structs are promoted; among
// several with one name, the one at the least depth counts, then one that is named
// by its tag, and otherwise none.
func (f *inferrer) fields(t reflect.Type) ([]jsonField, error) {
	all := map[string][]jsonField{}
	if err := f.collect(t, jsonField{}, map[reflect.Type]bool{}, all); err != nil {
		return nil, err
	}
	var fields []jsonField
	for _, same := range all {
		slices.SortStableFunc(same, func(a, b jsonField) int {
			return cmp.Or(cmp.Compare(len(a.index), len(b.index)), cmp.Compare(rank(a), rank(b)))
		})
		if len(same) == 1 || len(same[0].index) != len(same[1].index) || same[0].named != same[1].named {
			fields = append(fields, same[0])
		}
	}
	slices.SortFunc(fields, func(a, b jsonField) int { return slices.Compare(a.index, b.index) })
	return fields, nil
}

func rank(f jsonField) int {
	if f.named {
		return 0
	}
	return 1
}

// collect adds the fields of a struct that is embedded as within describes.
func (f *inferrer) collect(t reflect.Type, within jsonField, seen map[reflect.Type]bool, all map[string][]jsonField) error {
	if seen[t] {
		return nil
	}
	seen[t] = true
	defer delete(seen, t)
	for i := range t.NumField() {
		sf := t.Field(i)
		tag := sf.Tag.Get("json")
		if tag == "-" || !sf.IsExported() && !sf.Anonymous {
			continue
		}
		name, options, _ := strings.Cut(tag, ",")
		field := jsonField{StructField: sf, name: cmp.Or(name, sf.Name), named: name != "", behindPointer: within.behindPointer}
		field.index = append(slices.Clone(within.index), i)
		for option := range strings.SplitSeq(options, ",") {
			switch word, _, _ := strings.Cut(option, ":"); word {
			case "omitempty", "omitzero":
				field.omits = true
			case "string":
				field.quoted = true
			case "embed", "format", "inline", "unknown":
				return fmt.Errorf("field %s: the json option %s is not supported", sf.Name, word)
			}
		}
		if strings.HasPrefix(name, "'") {
			return fmt.Errorf("field %s: malformed json tag", sf.Name)
		}
		if !sf.Anonymous || field.named {
			all[field.name] = append(all[field.name], field)
			continue
		}
		embedded := sf.Type
		if embedded.Kind() == reflect.Pointer {
			embedded, field.behindPointer = embedded.Elem(), true
			if f.input && !sf.IsExported() {
				return fmt.Errorf("field %s: an embedded pointer to an unexported type cannot be decoded", sf.Name)
			}
		}
		if err := f.collect(embedded, field, seen, all); err != nil {
			return err
		}
	}
	return nil
}
