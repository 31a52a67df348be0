import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { waitFor } from '@fleet/testing';
import { WebSocket } from 'ws';
import { Talker } from './talker.ts';
import { Viewer } from './viewer.ts';

/** Fields of a `Stream` with addresses, one for each way to use a channel. */
export const streamFields = ['stream_url', 'ws_flv_url', 'hls_url', 'talk_url'] as const;

/** A way to use a channel. */
export type StreamField = (typeof streamFields)[number];

/** A stream, playlist or talk that is in use. */
export interface OpenStream {
  /** Returns whether the service has ended it. */
  isEnded(): boolean;
  close(): void;
}

const pollIntervalMs = 200;

/** Opens an address as its player does, and resolves with its first data. Throws the status of a refusal. */
export async function openStream(field: StreamField, url: string): Promise<OpenStream> {
  if (field === 'stream_url') return openFlv(url);
  if (field === 'ws_flv_url') return openWebsocket(url);
  return field === 'hls_url' ? openHls(url) : openTalk(url);
}

/** Returns the status with which an address is refused; 200 if it opens. */
export async function findOpenStatus(field: StreamField, url: string): Promise<number> {
  try {
    (await openStream(field, url)).close();
    return 200;
  } catch (error) {
    return Number(/^\d{3}/.exec((error as Error).message)?.[0]);
  }
}

async function openFlv(url: string): Promise<OpenStream> {
  const viewer = new Viewer(url);
  const hasResponse = () => viewer.pictures.length > 0 || viewer.ended !== undefined;
  await waitFor(hasResponse, 'a picture or a refusal');
  if (viewer.status !== 200) throw new Error(`${viewer.status} ${viewer.bytes.toString()}`);
  return { isEnded: () => viewer.ended !== undefined, close: () => viewer.leave() };
}

async function openWebsocket(url: string): Promise<OpenStream> {
  const websocket = new WebSocket(url);
  const refusal = new Promise<never>((_resolve, reject) => {
    websocket.once('unexpected-response', (_request, response: IncomingMessage) => {
      response.resume();
      reject(new Error(`${response.statusCode}`));
    });
  });
  await Promise.race([once(websocket, 'message'), refusal]);
  return { isEnded: () => websocket.readyState === WebSocket.CLOSED, close: () => websocket.close() };
}

/** Reads the playlist again and again, as players do. */
async function openHls(url: string): Promise<OpenStream> {
  const first = await fetch(url);
  if (first.status !== 200) throw new Error(`${first.status} ${await first.text()}`);
  const leaving = new AbortController();
  let isEnded = false;
  const poll = async (): Promise<void> => {
    while (!isEnded && !leaving.signal.aborted) {
      await delay(pollIntervalMs);
      const response = await fetch(url);
      await response.arrayBuffer();
      isEnded = response.status !== 200;
    }
  };
  void poll().catch(() => (isEnded = true));
  return { isEnded: () => isEnded, close: () => leaving.abort() };
}

async function openTalk(url: string): Promise<OpenStream> {
  const talker = await Talker.open(url);
  try {
    await waitFor(() => talker.received.length > 0, "the driver's voice");
  } catch (error) {
    talker.close();
    throw error;
  }
  return { isEnded: () => talker.closeCode !== null, close: () => talker.close() };
}
