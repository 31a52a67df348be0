// Command ferretdb is the MongoDB-compatible server of the local start: FerretDB 1 with storage of our own. It is embedded,
// because a plain build of FerretDB's own command panics without the version files of its release process.
package main

import (
	"context"
	"flag"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"syscall"

	"github.com/FerretDB/FerretDB/ferretdb"
)

// memoryLimitBytes is where the garbage collector begins to work harder.
const memoryLimitBytes = 200 << 20

func main() {
	listen := flag.String("listen", "127.0.0.1:27117", "address to listen on")
	dir := flag.String("dir", ".", "directory of the database")
	flag.Parse()

	debug.SetMemoryLimit(memoryLimitBytes)
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
		Listener:  ferretdb.ListenerConfig{TCP: listen},
		Handler:   "store",
		SQLiteURL: "file:" + filepath.ToSlash(dir) + "/",
		Logger:    logger,
	})
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return server.Run(ctx)
}
