package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"
	"time"
)

// The wire protocol, as far as it matters here: a header of 16 bytes (length, request id, response to, opcode; all int32,
// little endian), in an OP_MSG followed by 4 bytes of flags and by sections.
const (
	headerLen     = 16
	maxMessageLen = 48_000_000
	opMsg         = 2013
	moreToCome    = 1 << 1 // the client takes no reply: an unacknowledged write
)

// stopGrace is how long the requests under way may take at the stop.
const stopGrace = 5 * time.Second

// reads are the commands that change nothing. Any other, an unknown one too, waits for its turn.
var reads = map[string]bool{
	"aggregate": true, "buildInfo": true, "count": true, "distinct": true, "endSessions": true, "find": true, "getMore": true,
	"hello": true, "isMaster": true, "ismaster": true, "killCursors": true, "listCollections": true, "listDatabases": true,
	"listIndexes": true, "ping": true,
}

// front stands before FerretDB and lets it do one write after another. FerretDB 1 reads a document and writes it back in
// two steps that nothing holds together, so that of two updates at the same time one is lost. Each client has a
// connection of its own to FerretDB, on which request and reply take turns.
type front struct {
	upstream string
	logger   *slog.Logger
	write    sync.Mutex
	clients  sync.WaitGroup
}

// serve takes clients until ctx ends, and returns when the last of them has its reply.
func (f *front) serve(ctx context.Context, listener net.Listener) {
	defer context.AfterFunc(ctx, func() { _ = listener.Close() })()
	for ctx.Err() == nil {
		client, err := listener.Accept()
		if err != nil {
			if ctx.Err() == nil { // too many open files, say: the next one may do better
				f.logger.Error("no client accepted", "error", err)
				time.Sleep(100 * time.Millisecond)
			}
			continue
		}
		f.clients.Add(1)
		go func() {
			defer f.clients.Done()
			defer client.Close()
			if err := f.forward(ctx, client); err != nil {
				f.logger.Warn("client cut off", "error", err)
			}
		}()
	}
	f.clients.Wait()
}

// forward passes one client's requests on, until either side closes or ctx ends.
func (f *front) forward(ctx context.Context, client net.Conn) error {
	upstream, err := net.Dial("tcp", f.upstream)
	if err != nil {
		return err
	}
	defer upstream.Close()
	defer context.AfterFunc(ctx, func() { // no further request, but the reply to this one
		_ = client.SetReadDeadline(time.Now())
		_ = client.SetWriteDeadline(time.Now().Add(stopGrace))
	})()
	for {
		request, err := readMessage(client)
		if err == io.EOF || ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		reply, err := f.exchange(upstream, request)
		if err != nil {
			return err
		}
		if wantsNoReply(request) { // FerretDB gives one all the same
			continue
		}
		if _, err := client.Write(reply); err != nil {
			return err
		}
	}
}

// exchange has the whole request before it takes its turn and ends it with the whole reply, so that a slow or vanished
// client keeps nobody waiting, and no turn ends while FerretDB still works on it.
func (f *front) exchange(upstream net.Conn, request []byte) ([]byte, error) {
	if isOpMsg(request) && !reads[command(request)] {
		f.write.Lock()
		defer f.write.Unlock()
	}
	if _, err := upstream.Write(request); err != nil {
		return nil, err
	}
	return readMessage(upstream)
}

// readMessage gives io.EOF only where no message has begun. Memory grows with what arrives, not with what a header says.
func readMessage(from io.Reader) ([]byte, error) {
	var message bytes.Buffer
	if n, err := io.CopyN(&message, from, headerLen); err != nil {
		if n > 0 {
			return nil, io.ErrUnexpectedEOF
		}
		return nil, err
	}
	length := int64(int32(binary.LittleEndian.Uint32(message.Bytes())))
	if length < headerLen || length > maxMessageLen {
		return nil, fmt.Errorf("a message of %d bytes", length)
	}
	if _, err := io.CopyN(&message, from, length-headerLen); err != nil {
		return nil, io.ErrUnexpectedEOF
	}
	return message.Bytes(), nil
}

func isOpMsg(message []byte) bool {
	return binary.LittleEndian.Uint32(message[12:]) == opMsg
}

func wantsNoReply(message []byte) bool {
	return isOpMsg(message) && len(message) >= headerLen+4 && binary.LittleEndian.Uint32(message[headerLen:])&moreToCome != 0
}

// command is the name of an OP_MSG's command: the first key of its body, section kind 0. Before it there may be document
// sequences, kind 1. Empty where the message is none that can be understood.
func command(message []byte) string {
	sections := message[min(headerLen+4, len(message)):]
	for len(sections) > 6 { // kind, length, and for a body the type of its first value
		if sections[0] == 0 {
			name, _, _ := bytes.Cut(sections[6:], []byte{0})
			return string(name)
		}
		length := int64(binary.LittleEndian.Uint32(sections[1:]))
		if length < 4 || length >= int64(len(sections)) {
			return ""
		}
		sections = sections[1+length:]
	}
	return ""
}
