package remote

import (
	"context"
	"time"

	"github.com/bossman-dev/bossman/access"
	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/mcp"
)

type feedIn struct {
	Projects []string
	After    board.Cursor
	Limit    int
}

func (b *Board) Feed(ctx context.Context, projects []string, after board.Cursor, limit int) ([]board.Event, error) {
	return fetchRows(ctx, b, feed, limit, func(last *board.Event, n int) feedIn {
		if last != nil {
			after = last.Cursor
		}
		return feedIn{projects, after, n}
	})
}

var feed = op(access.Feed, func(ctx context.Context, c *call, in feedIn) ([]board.Event, error) {
	slugs, err := c.among(in.Projects)
	if err != nil {
		return nil, err
	}
	return rows(c, in.Limit, func(last *board.Event, n int) ([]board.Event, error) {
		if last != nil {
			in.After = last.Cursor
		}
		return c.Feed(ctx, slugs, in.After, n)
	})
})

func (b *Board) FeedEnd(ctx context.Context) (board.Cursor, error) {
	return feedEnd.fetch(ctx, b, nil, none{})
}

var feedEnd = op(access.FeedEnd, func(ctx context.Context, c *call, _ none) (board.Cursor, error) { return c.FeedEnd(ctx) })

// Changes returns a channel that is closed when the board may have changed since the call. The
// first call starts to listen to the server, until Close.
func (b *Board) Changes() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.stop == nil {
		life, stop := context.WithCancel(context.Background())
		b.stop = stop
		b.wg.Go(func() { b.listen(life) })
	}
	return b.changed
}

// listen closes the channel of Changes whenever the server reports a change.
func (b *Board) listen(ctx context.Context) {
	for ctx.Err() == nil {
		if client, err := b.connection(ctx); err == nil {
			for _, err := range client.Listen(ctx, mcp.EventFilter{ResourceURIs: b.watch}) {
				if err != nil {
					break
				}
				b.mu.Lock()
				close(b.changed)
				b.changed = make(chan struct{})
				b.mu.Unlock()
			}
		}
		_ = sleep(ctx, listenAgain)
	}
}

// listenAgain is how long to wait before listening again.
const listenAgain = 2 * time.Second

// Run waits for ctx to end. The server does the board's background work.
func (b *Board) Run(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}
