package boardcli

import (
	"net"
	"strings"
	"testing"
)

// A browser may take a name below localhost for 127.0.0.1 or for ::1: nobody else may have the port at either.
func TestListen_bothAddresses(t *testing.T) {
	ls, host, err := listen(t.Context(), "127.0.0.1:0", false)
	if err != nil {
		t.Fatal(err)
	}
	defer closeAll(ls)
	if !strings.HasSuffix(host, ".localhost") || len(host) < 30 {
		t.Errorf("host = %q", host)
	}
	_, port, _ := net.SplitHostPort(ls[0].Addr().String())
	if l, err := listenOne(t.Context(), localhost6, "0"); err != nil {
		t.Skip("there is no ::1 here")
	} else {
		l.Close()
	}
	if l, err := listenOne(t.Context(), localhost6, port); err == nil {
		l.Close()
		t.Fatalf("port %s of ::1 was free", port)
	}
	taken, err := listenOne(t.Context(), localhost6, "0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	if ls, _, err := listen(t.Context(), "localhost:"+taken.Addr().String()[len("[::1]:"):], false); err == nil {
		closeAll(ls)
		t.Error("listen took a port that somebody else has at ::1")
	}
}

func TestListen_host(t *testing.T) {
	for _, test := range []struct {
		address   string
		byAddress bool
		want      string
	}{
		{"127.0.0.1:0", true, "127.0.0.1"},
		{"localhost:0", true, "localhost"},
		{"localhost:0", false, ""},
		{"[::1]:0", false, ""},
		{"0.0.0.0:0", false, "refused"},
		{"192.0.2.1:0", true, "refused"},
		{"[::ffff:127.0.0.1]:0", true, "127.0.0.1"},
		{"example.org:0", false, "refused"},
		{"a.localhost:0", false, "refused"},
	} {
		ls, host, err := listen(t.Context(), test.address, test.byAddress)
		closeAll(ls)
		switch {
		case (err != nil) != (test.want == "refused"):
			t.Errorf("listen(%s) = %v", test.address, err)
		case err == nil && test.want != "" && host != test.want, err == nil && test.want == "" && !strings.HasSuffix(host, ".localhost"):
			t.Errorf("listen(%s) = host %q, want %q", test.address, host, test.want)
		}
	}
}
