import type { LiveEvent, LiveEventType } from '@fleet/bus';
import { type StreamUrlsOf, withoutStreamUrls } from '../domains/dashcam/event-urls.ts';
import { withUrls } from '../domains/downloads/responses.ts';
import type { DownloadResponse } from '../domains/downloads/schema.ts';
import { toThumbnailUrl } from '../domains/media/responses.ts';
import { toEvent, toViewerEvent, type UrlOf, withoutDriver } from '../domains/notifications/responses.ts';
import type { Notification } from '../domains/notifications/schema.ts';

/** Returns a websocket message: `{ type, ts, data }`. */
export const encodeMessage = (type: string, data: unknown, tsMs = Date.now()): Buffer =>
  Buffer.from(JSON.stringify({ type, ts: tsMs, data }));

/** Recipients of an event: the vehicle's own account, its drivers, users with a share, or viewers of a share link. */
export type EventRecipients = 'own' | 'driver' | 'shared' | 'public';

/** URLs of a viewer. */
export interface ViewerUrls {
  /** Creates the URL of a file; null if the viewer may not open files of the vehicle. */
  readonly fileUrlOf: UrlOf;
  /** Creates the URLs of a stream; null if the viewer may not watch the vehicle. */
  readonly streamUrlsOf: StreamUrlsOf | null;
}

const noUrls: ViewerUrls = { fileUrlOf: null, streamUrlsOf: null };

/** Represents an event for any number of viewers: encoded once for each audience that it has, on demand. */
export class OutgoingEvent {
  readonly accountId: number;
  readonly vehicleId: number;
  readonly type: LiveEventType;
  readonly atMs: number;
  readonly data: Readonly<Record<string, unknown>>;
  /** The only user who receives the event; undefined for events of all users. */
  readonly userId: number | undefined;
  readonly #messages: { [audience in EventRecipients]?: Buffer } = {};

  constructor(accountId: number, { vehicleId, type, atMs, data, userId }: LiveEvent) {
    this.accountId = accountId;
    this.vehicleId = vehicleId;
    this.type = type;
    this.atMs = atMs;
    this.data = data;
    this.userId = userId;
  }

  /** Device time of a position; the newest one wins. */
  get timestamp(): number {
    const { timestamp } = this.data;
    return typeof timestamp === 'number' ? timestamp : this.atMs;
  }

  /** True for `vehicle` events that list the users of its shares. */
  get isShareChange(): boolean {
    return this.type === 'vehicle' && (this.data['action'] === 'shared' || this.data['action'] === 'unshared');
  }

  // Without URLs of a viewer, the event has none.
  messageFor(audience: EventRecipients, urls: ViewerUrls = noUrls): Buffer {
    const ownUrls = this.#findUrls(urls);
    if (ownUrls !== null) return encodeMessage(this.type, ownUrls(dataFor(audience, this.type, this.data)), this.atMs);
    return (this.#messages[audience] ??= encodeMessage(
      this.type,
      withoutUrls(this.type, dataFor(audience, this.type, this.data)),
      this.atMs,
    ));
  }

  /** Returns what adds the viewer's URLs; null for an event that every viewer of an audience receives alike. */
  #findUrls({ fileUrlOf, streamUrlsOf }: ViewerUrls): ((data: Data) => Data) | null {
    if (this.type === 'stream') return streamUrlsOf;
    const hasFiles =
      ['media', 'upload'].includes(this.type) || (this.type === 'notification' && mediaFiles(this.data).length > 0);
    return hasFiles && fileUrlOf !== null ? (data) => withFileUrls(this.type, data, fileUrlOf) : null;
  }
}

/** Returns the event of a recorded notification; `user` is the owning user of its vehicle. */
export const toOutgoingEvent = (notification: Notification, user: number | null): OutgoingEvent =>
  new OutgoingEvent(notification.accountId, {
    vehicleId: notification.vehicleId,
    type: 'notification',
    atMs: notification.serverTimestamp,
    data: toEvent(notification, user),
  });

type Data = Readonly<Record<string, unknown>>;

const mediaFiles = ({ media }: Data): readonly { readonly id: number }[] => (Array.isArray(media) ? media : []);

// Each viewer with access to a file gets an own URL.
function withFileUrls(type: LiveEventType, data: Data, urlOf: NonNullable<UrlOf>): Data {
  if (type === 'media') {
    const url = urlOf(Number(data['id']));
    return { ...data, url, thumbnail_url: typeof data['thumbnail_url'] === 'string' ? toThumbnailUrl(url) : null };
  }
  if (type === 'upload') return withUrls(data as unknown as DownloadResponse, urlOf);
  return { ...data, media: mediaFiles(data).map((file) => ({ ...file, url: urlOf(file.id) })) };
}

function withoutUrls(type: LiveEventType, data: Data): Data {
  if (type === 'stream') return withoutStreamUrls(data);
  if (type === 'media') return { ...data, url: null, thumbnail_url: null };
  if (type === 'upload') return { ...data, thumbnail_url: null };
  return mediaFiles(data).length > 0 ? { ...data, media: [] } : data;
}

function dataFor(audience: EventRecipients, type: LiveEventType, data: Data): Data {
  if (audience === 'public') return publicData(type, data);
  if (type === 'notification') return toViewerEvent(audience, data);
  return audience === 'shared' ? withoutDriver(data) : data;
}

const publicFields: Readonly<Partial<Record<LiveEventType, readonly string[]>>> = {
  location: ['latitude', 'longitude', 'speed', 'course', 'timestamp'],
  status: ['connected', 'state', 'previous_state', 'state_since', 'last_seen'],
  // Why a guest's video ended; its addresses are requested.
  stream: ['channel_id', 'kind', 'status', 'reason'],
};

/** Returns only the fields that a share link shows. */
export const publicData = (type: LiveEventType, data: Data): Data =>
  Object.fromEntries((publicFields[type] ?? []).map((name) => [name, data[name] ?? null]));
