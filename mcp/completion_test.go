package mcp

import (
	"testing"

	jsonv2 "github.com/go-json-experiment/json"
)

func TestCompletion_limited(t *testing.T) {
	b, err := jsonv2.Marshal((&Completion{}).limited())
	if want := `{"values":[]}`; err != nil || string(b) != want {
		t.Errorf("Marshal = %s, %v, want %s", b, err, want)
	}
	many := Completion{Values: make([]string, 101)}
	var got Completion
	if b, err = jsonv2.Marshal(many.limited()); err != nil {
		t.Fatal(err)
	}
	if err := jsonv2.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Values) != 100 || !got.HasMore || got.Total == nil || *got.Total != 101 {
		t.Errorf("101 values: sent %d, more %v, total %v", len(got.Values), got.HasMore, got.Total)
	}
	if len(many.Values) != 101 || many.HasMore {
		t.Error("limited changed what it was given")
	}
}
