import type { components } from '@fleet/api-client';
import { useEffect, useState } from 'react';
import { followShareLink } from './share-socket.ts';

/** What a share link shows. */
type SharedView = components['schemas']['SharedView'];

const maxTrackPoints = 1_000;

/** Keeps a view current by the events of its link. Returns the view, and whether the link has ended. */
export function useLiveView(opened: SharedView | undefined): { view: SharedView | undefined; hasEnded: boolean } {
  const [changed, setChanged] = useState<SharedView>();
  const [hasEnded, setHasEnded] = useState(false);
  useEffect(() => {
    if (opened === undefined) return undefined;
    setChanged(opened);
    const change = (apply: (view: SharedView) => SharedView): void => setChanged((view) => apply(view ?? opened));
    return followShareLink(opened.ws_url, {
      onLocation: (location) =>
        change((view) => ({
          ...view,
          location,
          track: [...view.track, [location.latitude, location.longitude, location.timestamp]].slice(-maxTrackPoints),
        })),
      onStatus: ({ state, state_since }) => change((view) => ({ ...view, state, state_since })),
      onEnd: () => setHasEnded(true),
    });
  }, [opened]);
  return { view: changed ?? opened, hasEnded };
}
