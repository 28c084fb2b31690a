package replicatest

import (
	"fmt"
	"testing"

	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/mcp/replica"
)

// Bus tests a bus as seen by two replicas, which may be the same. open returns
// buses that are ready.
func Bus(t *testing.T, open func(t *testing.T) (here, there replica.Bus)) {
	here, there := open(t)
	received := [2]chan mcp.Event{make(chan mcp.Event, 1000), make(chan mcp.Event, 1000)}
	stopHere := here.Subscribe(func(kind, name string) { received[0] <- mcp.Event{Kind: mcp.EventKind(kind), Name: name} })
	stopThere := there.Subscribe(func(kind, name string) { received[1] <- mcp.Event{Kind: mcp.EventKind(kind), Name: name} })
	find := func(i int, want mcp.Event) {
		t.Helper()
		for await(t, received[i], fmt.Sprint(want)) != want {
		}
	}
	for _, e := range []mcp.Event{
		{Kind: mcp.EventTools},
		{Kind: mcp.EventResource, Name: "note://a b/ß?x=1"},
		{Kind: mcp.EventResource, Name: ""},
		{Kind: mcp.EventTask, Name: "12"},
		{Kind: mcp.EventResource, Name: fmt.Sprintf("note://%08000d", 1)},
	} {
		here.Publish(string(e.Kind), e.Name)
		find(0, e)
		find(1, e)
	}
	stopHere()
	last := mcp.Event{Kind: mcp.EventResource, Name: "last"}
	there.Publish(string(last.Kind), last.Name)
	find(1, last)
	end := mcp.Event{Kind: mcp.EventResource, Name: "end"}
	here.Publish(string(end.Kind), end.Name)
	find(1, end)
	stopThere()
	for len(received[0]) > 0 {
		if e := <-received[0]; e == last || e == end {
			t.Errorf("%v was received after stop", e)
		}
	}
}
