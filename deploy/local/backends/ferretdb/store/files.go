package store

import (
	"strings"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// syncInterval is how often the write-ahead log is flushed to disk.
const syncInterval = time.Second

// relaxedFS flushes the write-ahead log every second instead of at every commit. A killed process loses nothing, since the
// operating system has the bytes already. A power cut can lose the last second.
type relaxedFS struct {
	vfs.FS
	logs *openLogs
}

type openLogs struct {
	mutex sync.Mutex
	files map[*relaxedLog]struct{}
}

func newRelaxedFS(fs vfs.FS) *relaxedFS {
	return &relaxedFS{FS: fs, logs: &openLogs{files: map[*relaxedLog]struct{}{}}}
}

func (fs *relaxedFS) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	file, err := fs.FS.Create(name, category)
	return fs.relax(name, file, err)
}

func (fs *relaxedFS) ReuseForWrite(oldName, newName string, category vfs.DiskWriteCategory) (vfs.File, error) {
	file, err := fs.FS.ReuseForWrite(oldName, newName, category)
	return fs.relax(newName, file, err)
}

func (fs *relaxedFS) relax(name string, file vfs.File, err error) (vfs.File, error) {
	if err != nil || !strings.HasSuffix(name, ".log") {
		return file, err
	}
	log := &relaxedLog{File: file, logs: fs.logs}
	fs.logs.mutex.Lock()
	defer fs.logs.mutex.Unlock()
	fs.logs.files[log] = struct{}{}
	return log, nil
}

// syncLoop flushes the open logs until stop is closed.
func (fs *relaxedFS) syncLoop(stop <-chan struct{}) {
	ticker := time.NewTicker(syncInterval)
	defer ticker.Stop()
	for {
		select {
		case <-stop:
			return
		case <-ticker.C:
			fs.logs.sync()
		}
	}
}

func (logs *openLogs) sync() {
	for _, log := range logs.takeDirty() {
		// An error here is met again by the next write, which reports it to the client.
		_ = log.File.SyncData()
	}
}

// takeDirty returns the logs that have been written to since the last call. Commits do not wait while they are flushed.
func (logs *openLogs) takeDirty() []*relaxedLog {
	logs.mutex.Lock()
	defer logs.mutex.Unlock()
	var dirty []*relaxedLog
	for log := range logs.files {
		if log.isDirty {
			log.isDirty = false
			dirty = append(dirty, log)
		}
	}
	return dirty
}

// relaxedLog is a file of the write-ahead log whose commits do not wait for the disk.
type relaxedLog struct {
	vfs.File
	logs    *openLogs
	isDirty bool // protected by logs.mutex
}

func (log *relaxedLog) Sync() error     { return log.SyncData() }
func (log *relaxedLog) SyncData() error { log.mark(); return nil }

func (log *relaxedLog) SyncTo(int64) (fullSync bool, err error) {
	log.mark()
	return true, nil
}

func (log *relaxedLog) mark() {
	log.logs.mutex.Lock()
	defer log.logs.mutex.Unlock()
	log.isDirty = true
}

func (log *relaxedLog) Close() error {
	log.logs.mutex.Lock()
	delete(log.logs.files, log)
	log.logs.mutex.Unlock()
	if err := log.File.SyncData(); err != nil {
		_ = log.File.Close()
		return err
	}
	return log.File.Close()
}
