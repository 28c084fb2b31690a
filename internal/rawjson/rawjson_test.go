package rawjson_test

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/bossman-dev/bossman/internal/rawjson"
)

func TestMembers(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{`{}`, ``},
		{` { } `, ``},
		{`[1]`, ``},
		{``, ``},
		{`{"a":1}`, `a=1;`},
		{"{ \"a\" :\t[1, {\"b\":\"]}\"}] ,\n\"\\u0062\" : \"x\\\\\\\"\\\\\" , \"c\":null}", `a=[1, {"b":"]}"}];b="x\\\"\\";c=null;`},
	} {
		var got strings.Builder
		for k, v := range rawjson.Members([]byte(c.in)) {
			fmt.Fprintf(&got, "%s=%s;", k, v)
		}
		if got.String() != c.want {
			t.Errorf("Members(%q) = %s, want %s", c.in, got.String(), c.want)
		}
	}
}

func TestMembers_stopsWhenAsked(t *testing.T) {
	n := 0
	for range rawjson.Members([]byte(`{"a":1,"b":2,"c":3}`)) {
		if n++; n == 2 {
			break
		}
	}
	if n != 2 {
		t.Errorf("went on to %d", n)
	}
}

func TestText(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{`"a"`, "a"}, {`"\u0061\n"`, "a\n"}, {`""`, ""}, {``, ""}, {`1`, ""}, {`12`, ""}, {`null`, ""}, {`{}`, ""},
	} {
		if got := rawjson.Text([]byte(c.in)); got != c.want {
			t.Errorf("Text(%s) = %q, want %q", c.in, got, c.want)
		}
	}
}

func TestElements(t *testing.T) {
	var got []string
	for v := range rawjson.Elements([]byte(` [1, "]" , [2,[3]],{"a":[]} ] `)) {
		got = append(got, string(v))
	}
	if want := []string{`1`, `"]"`, `[2,[3]]`, `{"a":[]}`}; !slices.Equal(got, want) {
		t.Errorf("Elements = %q, want %q", got, want)
	}
	for v := range rawjson.Elements([]byte(`{"a":1}`)) {
		t.Errorf("an object has element %s", v)
	}
}

// FuzzMembers: any text at all is walked to an end, within its bounds; an object
// or an array as jsontext reads it.
func FuzzMembers(f *testing.F) {
	for _, s := range []string{``, `{`, `{"`, `{"a`, `{"a"`, `{"a":`, `{"a":1`, `{"a":"\"`, `{"a":[`, `{"a":1}`, `{"\`, `{"a":,"b":}`, `{"a":{"b":[1,"]"]},"\u0062":"\\"}`, `1, "]" , [2,[3]],{}`, ` `, `,`, `}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got := fastMembers(data)
		if v := jsontext.Value(data); v.IsValid() && v.Kind() == '{' {
			if want := slowMembers(t, data); !reflect.DeepEqual(got, want) {
				t.Fatalf("Members = %q, jsontext reads %q", got, want)
			}
		}
		array := append(append([]byte("["), data...), ']')
		var all []string
		for v := range rawjson.Elements(array) {
			all = append(all, string(v))
			_ = rawjson.Text(v)
		}
		if v := jsontext.Value(array); v.IsValid() {
			if want := slowElements(t, array); !reflect.DeepEqual(all, want) {
				t.Fatalf("Elements = %q, jsontext reads %q", all, want)
			}
		}
	})
}

func fastMembers(object []byte) (all [][2]string) {
	for k, v := range rawjson.Members(object) {
		all = append(all, [2]string{k, string(v)})
	}
	return all
}

func slowMembers(t *testing.T, object []byte) (all [][2]string) {
	d := jsontext.NewDecoder(bytes.NewReader(object))
	if _, err := d.ReadToken(); err != nil {
		t.Fatal(err)
	}
	for d.PeekKind() == '"' {
		k, err := d.ReadToken()
		if err != nil {
			t.Fatal(err)
		}
		name := k.String()
		v, err := d.ReadValue()
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, [2]string{name, string(v)})
	}
	return all
}

func slowElements(t *testing.T, array []byte) (all []string) {
	d := jsontext.NewDecoder(bytes.NewReader(array))
	if _, err := d.ReadToken(); err != nil {
		t.Fatal(err)
	}
	for d.PeekKind() != ']' {
		v, err := d.ReadValue()
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, string(v))
	}
	return all
}
