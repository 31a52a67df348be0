import { useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { openShareLink } from './share-api.ts';
import { ShareSocket } from './share-socket.ts';
import { type ShareState, toEndReason, toFailedState, withLocation } from './share-state.ts';
import type { Guest, SharedView, StreamChange } from './shared-view.ts';

type Open = Extract<ShareState, { kind: 'open' }>;

/** Opens a share link once and keeps its view current by its websocket, which counts no view. */
export function useSharedView(slug: string) {
  const [state, setState] = useState<ShareState>({ kind: 'opening' });
  const [lostSinceMs, setLostSinceMs] = useState<number | null>(null);
  const [opened, setOpened] = useState<SharedView | null>(null);
  const socket = useRef<ShareSocket | null>(null);
  const streamListeners = useRef(new Set<(change: StreamChange) => void>());

  const open = useCallback(
    async (password: string | null): Promise<void> => {
      try {
        const view = await openShareLink(slug, password);
        setState({ kind: 'open', view, arrival: null });
        setOpened(view);
      } catch (error) {
        setState(toFailedState(error, password));
      }
    },
    [slug],
  );
  const isOpened = useRef(false);
  useEffect(() => {
    // Each request counts as a view.
    if (isOpened.current) return;
    isOpened.current = true;
    void open(null);
  }, [open]);

  useEffect(() => {
    if (opened === null) return undefined;
    const change = (apply: (state: Open) => Open): void =>
      setState((current) => (current.kind === 'open' ? apply(current) : current));
    const created = new ShareSocket(opened.ws_url, {
      onLocation: (location) => change((current) => ({ ...current, view: withLocation(current.view, location) })),
      onStatus: ({ state: vehicleState, state_since }) =>
        change((current) => ({ ...current, view: { ...current.view, state: vehicleState, state_since } })),
      onArrival: (arrival) => change((current) => ({ ...current, arrival })),
      onStream: (event) => streamListeners.current.forEach((listener) => listener(event)),
      onConnection: setLostSinceMs,
      onEnd: () => setState({ kind: 'ended', reason: toEndReason(opened, Date.now()) }),
      onLocked: () => setState({ kind: 'locked', isWrong: false }),
    });
    socket.current = created;
    return () => created.stop();
  }, [opened]);

  const guest = useMemo(
    (): Guest => ({
      slug,
      getTicket: () => socket.current?.ticket ?? '',
      subscribeToStreams: (listener) => {
        streamListeners.current.add(listener);
        return () => streamListeners.current.delete(listener);
      },
    }),
    [slug],
  );
  return { state, lostSinceMs, open, guest };
}
