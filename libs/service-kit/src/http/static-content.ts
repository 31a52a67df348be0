import etag from 'etag';
import type { Response } from 'express';
import fresh from 'fresh';

/**
 * Sends content with an ETag of its bytes, or 304 if `If-None-Match` has the same. The tag is weak,
 * because one content is sent in several encodings. The content type must be set.
 */
export function sendWithEtag(response: Response, content: string | Buffer, etagValue = computeEtag(content)): void {
  response.set('ETag', etagValue).vary('Accept-Encoding');
  // Express would ignore the tag of a client that adds `Cache-Control: no-cache`, as `fetch` does: that header is meant
  // for caches.
  const isNotModified = fresh({ 'if-none-match': response.req.get('if-none-match') }, { etag: etagValue });
  if (isNotModified) response.status(304).removeHeader('Content-Type');
  response.send(isNotModified ? '' : content);
}

/** Returns the weak ETag of a content. */
export const computeEtag = (content: string | Buffer): string => etag(content, { weak: true });

/** Returns a sender of content that is built and tagged once, at its first request. */
export function createContentSender(build: () => string | Buffer): (response: Response) => void {
  let cached: { readonly content: string | Buffer; readonly tag: string } | undefined;
  return (response) => {
    if (cached === undefined) {
      const content = build();
      cached = { content, tag: computeEtag(content) };
    }
    sendWithEtag(response, cached.content, cached.tag);
  };
}

/**
 * Returns a sender of a JSON document that only a deployment changes. Clients store it and revalidate it before each
 * use.
 */
export function createDocumentSender(build: () => unknown): (response: Response) => void {
  const send = createContentSender(() => JSON.stringify(build()));
  return (response) => send(response.type('json').set('Cache-Control', 'no-cache'));
}
