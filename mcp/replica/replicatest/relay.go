package replicatest

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/bossman-dev/bossman/mcp/replica"
)

// Relay tests the relay as seen by three replicas. open returns relays that
// are ready; listening is called after each Receive, and returns when it has
// taken effect.
func Relay(t *testing.T, open func(t *testing.T) (replicas [3]replica.Relay, listening func())) {
	relays, listening := open(t)
	var received [3]chan string
	var stops [3]func()
	for i, r := range relays {
		received[i] = make(chan string, 10_000)
		stops[i] = r.Receive(fmt.Sprint("replica \"", i, `"`), func(m []byte) { received[i] <- string(m) })
	}
	listening()
	send := func(from int, to string, message string) {
		t.Helper()
		b := []byte(message)
		if err := relays[from].Send(t.Context(), to, b); err != nil {
			t.Fatalf("Send = %v", err)
		}
		clear(b) // Send must not retain it
	}
	want := func(i int, message string) {
		t.Helper()
		if got := await(t, received[i], fmt.Sprintf("message %.20q at %d", message, i)); got != message {
			t.Fatalf("replica %d received %.40q of %d bytes, want %.40q of %d", i, got, len(got), message, len(message))
		}
	}
	name := func(i int) string { return fmt.Sprint("replica \"", i, `"`) }

	// In order: short and long, text and binary, and duplicates.
	messages := []string{
		"", "a", "a", "a", `{"jsonrpc":"2.0"}`, " ß ", "\x00", "\xff\xfe",
		string(bytes.Repeat([]byte("x"), 6_999)), string(bytes.Repeat([]byte("y"), 7_001)), string(bytes.Repeat([]byte("z"), 1<<20)), "end",
	}
	for _, m := range messages {
		send(0, name(1), m)
	}
	for _, m := range messages {
		want(1, m)
	}
	for i := range 2_000 {
		send(0, name(2), fmt.Sprint(i))
	}
	for i := range 2_000 {
		want(2, fmt.Sprint(i))
	}
	// To all others.
	send(1, "", "to all")
	want(0, "to all")
	want(2, "to all")
	send(1, "", string(bytes.Repeat([]byte("l"), 20_000)))
	want(0, string(bytes.Repeat([]byte("l"), 20_000)))
	want(2, string(bytes.Repeat([]byte("l"), 20_000)))
	// To nobody, to a stopped replica, and to itself.
	send(0, "nobody", "lost")
	stops[2]()
	send(0, name(2), "lost")
	send(0, "", "rest")
	want(1, "rest")
	send(1, name(1), "self")
	want(1, "self")
	for i := range received {
		if len(received[i]) > 0 {
			t.Errorf("replica %d received an unexpected %.40q", i, <-received[i])
		}
	}
	stops[0]()
	stops[1]()
}
