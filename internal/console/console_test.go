package console

import (
	"os"
	"testing"
)

func TestNew_colour(t *testing.T) {
	for _, test := range []struct {
		env  map[string]string
		want bool
	}{
		{nil, false},
		{map[string]string{"FORCE_COLOR": "1"}, true},
		{map[string]string{"FORCE_COLOR": "0"}, false},
		{map[string]string{"FORCE_COLOR": "1", "NO_COLOR": "1"}, false},
	} {
		null, err := os.Open(os.DevNull)
		if err != nil {
			t.Fatal(err)
		}
		if got := New(null, null, null, func(k string) string { return test.env[k] }); got.colour != test.want || got.width != 0 {
			t.Errorf("New with %v = %+v, want colour %v", test.env, got, test.want)
		}
		null.Close()
	}
}
