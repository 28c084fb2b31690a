package jsonrpc

import "testing"

// A call that a caller makes as soon as it has its response is not taken for one that the
// handler of a notification makes, even if the response waited for that handler.
func TestRunQueue_lastResponse(t *testing.T) {
	p := NewPeer(nil, nil)
	var busy []bool
	item := func(response bool) queuedItem {
		return queuedItem{response: response, run: func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			busy = append(busy, p.notifyBusy)
		}}
	}
	p.notifyBusy = true
	p.notifyQueue = []queuedItem{item(true), item(false), item(true)}
	p.runQueue()
	if want := [3]bool{true, true, false}; len(busy) != 3 || [3]bool(busy) != want {
		t.Errorf("while the items ran, a notification was being handled: %v, want %v", busy, want)
	}
	if p.notifyBusy || p.notifyQueue != nil {
		t.Error("the queue has not ended")
	}
}
