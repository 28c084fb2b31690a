package oauth_test

import (
	"context"
	"fmt"
	"log"

	"github.com/bossman-dev/bossman/mcp/oauth"
)

// A transport that shows the person where to agree, and keeps what it is given. It is
// for streamable.ClientOptions.
func Example() {
	back, err := oauth.NewLoopback(func(address string) error {
		fmt.Println("Please visit", address)
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	defer back.Close()
	store, err := oauth.OpenFiles("tokens")
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	t, err := oauth.NewTransport("https://mcp.example.com/mcp", &oauth.Options{
		Authorize: back.Authorize, Redirect: back.Redirect(), Store: store, ClientName: "My program",
	})
	if err != nil {
		log.Fatal(err)
	}
	if err := t.Login(context.Background()); err != nil { // before anything has a time limit
		log.Fatal(err)
	}
}
