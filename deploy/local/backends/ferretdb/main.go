// Command ferretdb is the MongoDB-compatible server of the local start: FerretDB 1 over SQLite files, embedded,
// because a plain build of FerretDB's own command panics without the version files of its release process, and behind
// a front that lets one write run after another.
package main

import (
	"context"
	"flag"
	"log/slog"
	"net"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/FerretDB/FerretDB/ferretdb"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:27117", "address to listen on")
	dir := flag.String("dir", ".", "directory of the SQLite files, one for each database")
	flag.Parse()

	logger := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
	if err := run(*listen, *dir, logger); err != nil {
		logger.Error("ferretdb ended", "error", err)
		os.Exit(1)
	}
}

func run(listen, dir string, logger *slog.Logger) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	server, err := ferretdb.New(&ferretdb.Config{
		Listener:  ferretdb.ListenerConfig{TCP: "127.0.0.1:0"},
		Handler:   "sqlite",
		SQLiteURL: "file:" + filepath.ToSlash(dir) + "/",
		Logger:    logger,
	})
	if err != nil {
		return err
	}
	upstream, err := url.Parse(server.MongoDBURI())
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", listen)
	if err != nil {
		return err
	}

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// FerretDB stops after its clients: when each has its reply, or the grace is over.
	served, stopServing := context.WithCancel(context.Background())
	defer stopServing()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(stopGrace, stopServing) })()
	clients := &front{upstream: upstream.Host, logger: logger}
	go func() {
		defer stopServing()
		clients.serve(ctx, listener)
	}()
	return server.Run(served)
}
