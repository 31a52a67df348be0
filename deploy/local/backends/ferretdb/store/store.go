// Package store is the storage of the embedded database: documents and real secondary indexes in Pebble, an embedded
// key-value store. FerretDB's SQLite storage reads the whole collection for every filter but an _id.
package store

import (
	"log/slog"
	"path/filepath"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/vfs"
)

const (
	blockCacheBytes = 48 << 20
	memTableBytes   = 16 << 20
	maxOpenFiles    = 512
	bloomBitsPerKey = 10
)

// Store is an open database directory.
type Store struct {
	db      *pebble.DB
	fs      *relaxedFS
	catalog *catalog
	stop    chan struct{}
	logger  *slog.Logger
}

// Open opens the directory, and creates it if it does not exist.
func Open(dir string, logger *slog.Logger) (*Store, error) {
	s := &Store{fs: newRelaxedFS(vfs.Default), stop: make(chan struct{}), logger: logger}
	cache := pebble.NewCache(blockCacheBytes)
	defer cache.Unref()
	options := &pebble.Options{
		Cache:        cache,
		FS:           s.fs,
		Logger:       pebbleLogger{logger},
		MaxOpenFiles: maxOpenFiles,
		MemTableSize: memTableBytes,
	}
	options.EnsureDefaults()
	for level := range options.Levels {
		options.Levels[level].FilterPolicy = bloom.FilterPolicy(bloomBitsPerKey)
		options.Levels[level].FilterType = pebble.TableFilter
	}
	db, err := pebble.Open(filepath.Join(dir, "pebble"), options)
	if err != nil {
		return nil, err
	}
	s.db = db
	if s.catalog, err = openCatalog(db); err != nil {
		_ = db.Close()
		return nil, err
	}
	go s.fs.syncLoop(s.stop)
	return s, nil
}

// Close writes everything to disk and closes the directory.
func (s *Store) Close() {
	close(s.stop)
	if err := s.db.Close(); err != nil {
		s.logger.Error("database not closed cleanly", "error", err)
	}
}

// Flush returns when every write that was made before is with the operating system, so that it survives the process.
func (s *Store) Flush() error {
	return s.db.LogData(nil, pebble.Sync)
}

// pebbleLogger passes on what Pebble reports as an error, and nothing else.
type pebbleLogger struct{ logger *slog.Logger }

func (l pebbleLogger) Infof(string, ...any) {}

func (l pebbleLogger) Errorf(format string, args ...any) { l.logger.Error("pebble: " + sprintf(format, args)) }

func (l pebbleLogger) Fatalf(format string, args ...any) { panic("pebble: " + sprintf(format, args)) }
