// Package ours has the snippets of docs/library.md and of the two migration pages.
package ours

import (
	"context"
	"crypto/subtle"
	"errors"
	"log"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"strings"

	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/mcp/oauth"
	"github.com/bossman-dev/bossman/mcp/streamable"
)

type Args struct {
	City string `json:"city" jsonschema:"name of the city" minLength:"1"`
	Days int    `json:"days,omitempty" jsonschema:"days to forecast" default:"3" minimum:"1" maximum:"10"`
}

type Forecast struct {
	Highs []int `json:"highs" jsonschema:"highest temperature of each day"`
}

func forecast(ctx context.Context, c *mcp.Call, in Args) (Forecast, error) {
	if in.City == "Atlantis" {
		return Forecast{}, mcp.Errorf("%s is under water; name another city", in.City)
	}
	return Forecast{Highs: make([]int, in.Days)}, nil
}

func newServer() *mcp.Server {
	s := mcp.NewServer(mcp.Implementation{Name: "weather", Version: "1.0.0"}, nil)
	mcp.AddTool(s, mcp.Tool{Name: "forecast", Description: "Forecast the weather."}, forecast)
	return s
}

func main() {
	if err := newServer().Serve(context.Background(), mcp.Stdio(nil)); err != nil {
		log.Fatal(err)
	}
}

func draw(ctx context.Context, c *mcp.Call, in Args) (mcp.Output[Forecast], error) {
	return mcp.Output[Forecast]{
		Value:   Forecast{Highs: []int{21}},
		Content: []mcp.Content{mcp.Text("warm"), mcp.Image(chart, "image/png")},
	}, nil
}

func addStations(s *mcp.Server) {
	s.AddResourceTemplate(mcp.ResourceTemplate{URITemplate: "weather://{station}", Name: "station", MIMEType: "text/plain"},
		func(ctx context.Context, c *mcp.Call) (*mcp.ResourceResult, error) {
			text, ok := stations[c.Argument("station")]
			if !ok {
				return nil, mcp.ErrNotFound
			}
			return &mcp.ResourceResult{Contents: []mcp.ResourceContents{{Text: text}}}, nil
		})
}

func addReport(s *mcp.Server) {
	s.AddPrompt(mcp.Prompt{Name: "report", Arguments: []mcp.PromptArgument{{Name: "city", Required: true}}},
		func(ctx context.Context, c *mcp.Call) (*mcp.PromptResult, error) {
			text := "Write a weather report for " + c.Argument("city")
			return &mcp.PromptResult{Messages: []mcp.PromptMessage{{Role: "user", Content: mcp.Text(text)}}}, nil
		})
}

func withCompletion() *mcp.Server {
	return mcp.NewServer(mcp.Implementation{Name: "weather", Version: "1.0.0"}, &mcp.ServerOptions{
		Complete: func(ctx context.Context, c *mcp.Call, p *mcp.CompleteParams) (*mcp.Completion, error) {
			done := &mcp.Completion{}
			for _, name := range slices.Sorted(maps.Keys(stations)) {
				if p.Ref.URI == "weather://{station}" && strings.HasPrefix(name, p.Argument.Value) {
					done.Values = append(done.Values, name)
				}
			}
			return done, nil
		},
	})
}

func order(ctx context.Context, c *mcp.Call, in Args) (string, error) {
	size, err := mcp.Ask[string](c, "size", "Which size?")
	if errors.Is(err, mcp.ErrDeclined) {
		return "nothing was ordered", nil
	}
	if err != nil {
		return "", err
	}
	return "ordered size " + size, nil
}

func copyFiles(ctx context.Context, c *mcp.Call, in Args) (string, error) {
	for i := range files {
		c.Progress(float64(i), float64(len(files)), "copying "+files[i])
	}
	return "done", nil
}

func logCalls(s *mcp.Server) {
	s.Use(func(next mcp.Handler) mcp.Handler {
		return func(ctx context.Context, r *mcp.Request) (mcp.Result, error) {
			res, err := next(ctx, r)
			slog.Info("request", "method", r.Method, "target", r.Target().Name, "err", err)
			return res, err
		}
	})
}

func ServeHTTP(s *mcp.Server) error {
	h := streamable.NewHandler(s, &streamable.Options{
		Hosts: []string{"weather.example"},
		Authenticate: func(r *http.Request) (mcp.Principal, error) {
			if subtle.ConstantTimeCompare([]byte(r.Header.Get("X-Api-Key")), key) != 1 {
				return mcp.Principal{}, &streamable.AuthError{Text: "a key is required"}
			}
			return mcp.Principal{ID: "the key's owner"}, nil
		},
	})
	mux := http.NewServeMux()
	mux.Handle("/mcp", h)
	mux.HandleFunc("GET /healthz", func(http.ResponseWriter, *http.Request) {})
	srv := streamable.NewHTTPServer(mux)
	srv.Addr = ":8080"
	srv.RegisterOnShutdown(h.Close)
	return srv.ListenAndServe()
}

func ServeWithTokens(s *mcp.Server, verify func(ctx context.Context, token string) (mcp.Principal, error)) error {
	auth := streamable.Bearer(verify, streamable.Resource{
		URL:                  "https://weather.example/mcp",
		AuthorizationServers: []string{"https://login.example"},
	})
	h := streamable.NewHandler(s, &streamable.Options{
		Hosts:        []string{"weather.example"},
		Authenticate: auth.Authenticate,
	})
	mux := http.NewServeMux()
	mux.Handle("/mcp", h)
	mux.Handle(auth.MetadataPath(), auth)
	srv := streamable.NewHTTPServer(mux)
	srv.Addr = ":8080"
	srv.RegisterOnShutdown(h.Close)
	return srv.ListenAndServe()
}

func callChild(ctx context.Context) error {
	c, err := mcp.Start(ctx, "weather-server")
	if err != nil {
		return err
	}
	defer c.Close()
	f, err := mcp.CallAs[Forecast](ctx, c, "forecast", Args{City: "Oslo"}, nil)
	log.Print(f.Highs, err)
	return err
}

func callHTTP(ctx context.Context, url, key string) error {
	c, err := streamable.Connect(ctx, url, &streamable.ClientOptions{
		Header: http.Header{"X-Api-Key": {key}},
	}, &mcp.ClientOptions{
		Elicit: func(ctx context.Context, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "decline"}, nil
		},
	})
	if err != nil {
		return err
	}
	defer c.Close()
	for tool, err := range c.Tools(ctx) {
		if err != nil {
			return err
		}
		log.Print(tool.Name)
	}
	return nil
}

func callOAuth(ctx context.Context, url string, openBrowser func(url string) error) error {
	back, err := oauth.NewLoopback(openBrowser)
	if err != nil {
		return err
	}
	defer back.Close()
	t, err := oauth.NewTransport(url, &oauth.Options{
		Authorize: back.Authorize, Redirect: back.Redirect(), ClientName: "weather client",
	})
	if err != nil {
		return err
	}
	c, err := streamable.Connect(ctx, url, &streamable.ClientOptions{Transport: t}, nil)
	if err != nil {
		return err
	}
	return c.Close()
}

func Main() {
	main()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	s := newServer()
	logCalls(s)
	mcp.AddTool(s, mcp.Tool{Name: "draw", Description: "Draw the weather."}, draw)
	mcp.AddTool(s, mcp.Tool{Name: "order", Description: "Order a coat."}, order)
	mcp.AddTool(s, mcp.Tool{Name: "copy", Description: "Copy files."}, copyFiles)
	addStations(s)
	addReport(s)
	_ = withCompletion()
	_ = ServeWithTokens(s, nil)
	log.Print(callOAuth(ctx, "", nil))
	log.Print(callChild(ctx), callHTTP(ctx, "", ""))
}

var (
	chart []byte
	key   []byte
	files []string

	stations = map[string]string{"oslo": "21 degrees, clear"}
)
