package server

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/bossman-dev/bossman/board"
)

// projectsCache is how long the list of projects is reused.
const projectsCache = 2 * time.Second

// A projectList caches the projects of a server, for keys with a role in every project.
type projectList struct {
	home  string // the project of a board in a file, which may not exist yet
	board interface {
		Projects(context.Context) ([]board.Project, error)
	}

	mu   sync.Mutex
	at   time.Time
	last []string
}

func (l *projectList) slugs(ctx context.Context) ([]string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if time.Since(l.at) < projectsCache {
		return l.last, nil
	}
	all, err := l.board.Projects(ctx)
	if errors.Is(err, board.ErrUnavailable) && l.last != nil {
		return l.last, nil // the call itself will fail, with its own error
	}
	if err != nil {
		return nil, err
	}
	l.last = make([]string, 0, len(all))
	for _, p := range all {
		l.last = append(l.last, p.Slug)
	}
	if l.home != "" && !slices.Contains(l.last, l.home) {
		l.last = append(l.last, l.home)
	}
	l.at = time.Now()
	return l.last, nil
}
