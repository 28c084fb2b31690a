package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strconv"
	"strings"
	"sync"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"
)

// A userCodec encodes and decodes a type of the program: arguments, results,
// answers. It does what encoding/json does, so that a program's types mean what
// they mean elsewhere, except that
//
//   - member names must match exactly, and duplicates are refused;
//   - nil slices and maps are encoded as [] and {}, as their schemas say;
//   - nothing is escaped for HTML;
//   - methods with a pointer receiver are called for all values, also in maps.
type userCodec struct {
	in, out jsonv2.Options
	quick   *quickDecoder // nil if the type is not simple
}

var (
	likeV1 = jsonv2.JoinOptions(
		jsonv1.DefaultOptionsV1(),
		jsonv1.ReportErrorsWithLegacySemantics(false), // these lack the path, and cost a second scan
		jsonv2.MatchCaseInsensitiveNames(false),
	)
	// userIn is for text that jsonrpc has decoded, so it has no duplicates.
	userIn  = likeV1
	userOut = jsonv2.JoinOptions(likeV1,
		jsontext.AllowDuplicateNames(false),
		jsonv1.CallMethodsWithLegacySemantics(false),
		jsontext.EscapeForHTML(false),
		jsontext.EscapeForJS(false),
		jsonv2.FormatNilSliceAsNull(false),
		jsonv2.FormatNilMapAsNull(false),
	)

	// The JSON package does not know json.Number. These functions cost a fifth of
	// the speed, so only the types that need them have them.
	numberIn = jsonv2.WithUnmarshalers(jsonv2.UnmarshalFromFunc(func(d *jsontext.Decoder, n *json.Number) error {
		if d.PeekKind() != '0' {
			return errors.ErrUnsupported
		}
		v, err := d.ReadValue()
		*n = json.Number(v)
		return err
	}))
	numberOut = jsonv2.WithMarshalers(jsonv2.MarshalToFunc(func(e *jsontext.Encoder, n json.Number) error {
		if n == "" {
			n = "0"
		}
		return e.WriteValue(jsontext.Value(n))
	}))
)

var userCodecs sync.Map // from reflect.Type to *userCodec

// codecFor returns the codec of a type.
func codecFor(t reflect.Type) *userCodec {
	if c, ok := userCodecs.Load(t); ok {
		return c.(*userCodec)
	}
	c := &userCodec{in: userIn, out: userOut, quick: newQuickDecoder(t)}
	number, dynamic := findNumbers(t, map[reflect.Type]bool{})
	if number {
		c.in = jsonv2.JoinOptions(userIn, numberIn)
	}
	if number || dynamic {
		c.out = jsonv2.JoinOptions(userOut, numberOut)
	}
	userCodecs.Store(t, c)
	return c
}

// findNumbers reports whether a type contains a json.Number, or an interface,
// which may hold one.
func findNumbers(t reflect.Type, seen map[reflect.Type]bool) (number, dynamic bool) {
	if t == nil || t.Kind() == reflect.Interface {
		return false, true
	}
	if t == reflect.TypeFor[json.Number]() {
		return true, false
	}
	if seen[t] {
		return false, false
	}
	seen[t] = true
	var parts []reflect.Type
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array:
		parts = []reflect.Type{t.Elem()}
	case reflect.Map:
		parts = []reflect.Type{t.Elem()}
	case reflect.Struct:
		for i := range t.NumField() {
			parts = append(parts, t.Field(i).Type)
		}
	}
	for _, p := range parts {
		n, d := findNumbers(p, seen)
		number, dynamic = number || n, dynamic || d
	}
	return number, dynamic
}

// encode encodes a value.
func (c *userCodec) encode(v any) (json.RawMessage, error) { return jsonv2.Marshal(v, c.out) }

// encodeUser encodes a value of a type that is not known before.
func encodeUser(v any) (json.RawMessage, error) { return codecFor(reflect.TypeOf(v)).encode(v) }

// decode decodes text that jsonrpc has validated into v, a pointer to a zero
// value. Numbers such as 1.0 and 1e2 are integers.
func (c *userCodec) decode(text json.RawMessage, v any) error {
	if c.quick != nil {
		if c.quick.decode(text, v, c.in) {
			return nil
		}
		reflect.ValueOf(v).Elem().SetZero()
	}
	err := jsonv2.Unmarshal(text, v, c.in)
	if err == nil {
		return nil
	}
	if again := rewriteIntegers(text); again != nil {
		reflect.ValueOf(v).Elem().SetZero()
		if jsonv2.Unmarshal(again, v, c.in) == nil {
			return nil
		}
	}
	return err
}

// rewriteIntegers rewrites numbers such as 1.0 and 1e2 as integers. It returns
// nil if there are none. It runs only after decoding has failed, so that ordinary
// calls pay nothing.
func rewriteIntegers(text json.RawMessage) json.RawMessage {
	var out bytes.Buffer
	d := jsontext.NewDecoder(bytes.NewReader(text), jsontext.AllowDuplicateNames(true))
	e := jsontext.NewEncoder(&out, jsontext.AllowDuplicateNames(true))
	changed := false
	for {
		if d.PeekKind() == '0' {
			v, err := d.ReadValue()
			if err != nil {
				return nil
			}
			if n, ok := integerText(string(v)); ok {
				v, changed = jsontext.Value(n), true
			}
			if e.WriteValue(v) != nil {
				return nil
			}
			continue
		}
		t, err := d.ReadToken()
		if err != nil {
			break // the end; the text is valid
		}
		if e.WriteToken(t) != nil {
			return nil
		}
	}
	if !changed {
		return nil
	}
	return out.Bytes()
}

// integerText returns the plain form of a JSON number that is written with a
// fraction or an exponent, if it is an integer of a reasonable size.
func integerText(number string) (plain string, ok bool) {
	const maxExponent = 20
	number, negative := strings.CutPrefix(number, "-")
	mantissa, exponent, hasExponent := strings.Cut(strings.ToLower(number), "e")
	whole, fraction, hasFraction := strings.Cut(mantissa, ".")
	if !hasExponent && !hasFraction {
		return "", false
	}
	shift := 0
	if hasExponent {
		var err error
		if shift, err = strconv.Atoi(exponent); err != nil || shift < -maxExponent || shift > maxExponent {
			return "", false
		}
	}
	digits, point := whole+fraction, len(whole)+shift
	if point < 0 {
		digits, point = strings.Repeat("0", -point)+digits, 0
	}
	if point > len(digits) {
		digits += strings.Repeat("0", point-len(digits))
	}
	if strings.Trim(digits[point:], "0") != "" {
		return "", false
	}
	plain = strings.TrimLeft(digits[:point], "0")
	switch {
	case plain == "":
		return "0", true
	case negative:
		return "-" + plain, true
	}
	return plain, true
}
