package remote

import (
	"context"
	"time"

	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/tools"
)

// Wait returns when the board may have changed, after d at the latest. The first
// one begins to listen to the server, until Close.
func (b *Board) Wait(ctx context.Context, d time.Duration) {
	b.mu.Lock()
	if b.stop == nil {
		life, stop := context.WithCancel(context.Background())
		b.stop = stop
		b.wg.Go(func() { b.listen(life) })
	}
	changed := b.changed
	b.mu.Unlock()
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-changed:
	case <-t.C:
	case <-ctx.Done():
	}
}

// listen wakes those who wait, whenever the server tells of a change.
func (b *Board) listen(ctx context.Context) {
	for ctx.Err() == nil {
		if client, err := b.connection(ctx); err == nil {
			for _, err := range client.Listen(ctx, mcp.Filter{Watch: tools.Watched()}) {
				if err != nil {
					break
				}
				b.mu.Lock()
				close(b.changed)
				b.changed = make(chan struct{})
				b.mu.Unlock()
			}
		}
		_ = rest(ctx, listenAgain)
	}
}

// listenAgain is how long to wait before listening again.
const listenAgain = 2 * time.Second

// Run has nothing to do: the server sweeps its board. It returns when ctx ends.
func (b *Board) Run(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}
