import { createPlatformClient } from '@fleet/api-client';
import type { SharedStream, SharedView } from './shared-view.ts';

/** Guests have no credentials: the slug gives the access. */
const api = createPlatformClient({
  baseUrl: window.location.origin,
  getCredentials: () => ({ apiKey: null, accessToken: null }),
});

/** Opens a link, which counts a view. */
export async function openShareLink(slug: string, password: string | null): Promise<SharedView> {
  // Headers cannot carry every character.
  const header = password === null ? {} : { 'X-Share-Password': encodeURIComponent(password) };
  const { data } = await api.GET('/api/public/share-links/{slug}', { params: { path: { slug }, header } });
  if (data === undefined) throw new Error('The server returned no view.');
  return data.data;
}

/** Returns the addresses of a camera. The ticket of an opened link makes that no further view. */
export async function openSharedStream(slug: string, channelId: number, ticket: string): Promise<SharedStream> {
  const { data } = await api.POST('/api/public/share-links/{slug}/stream', {
    params: { path: { slug } },
    body: { channel_id: channelId, ticket },
  });
  if (data === undefined) throw new Error('The server returned no stream.');
  return data.data;
}
