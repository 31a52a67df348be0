import etag from 'etag';
import type { Response } from 'express';
import fresh from 'fresh';

/**
 * Sends content that changes with a deployment alone, with an ETag of its bytes, or 304 where `If-None-Match` has the same. The tag is weak, as one content is
 * sent in several encodings. The content type is set already.
 */
export function sendTagged(response: Response, content: string | Buffer, tag = contentTag(content)): void {
  response.set('ETag', tag).vary('Accept-Encoding');
  // Express would send it again to a client that adds `Cache-Control: no-cache`, as `fetch` does: that is meant for caches.
  const isStored = fresh({ 'if-none-match': response.req.get('if-none-match') }, { etag: tag });
  if (isStored) response.status(304).removeHeader('Content-Type');
  response.send(isStored ? '' : content);
}

const contentTag = (content: string | Buffer): string => etag(content, { weak: true });

/** Returns a sender of content that is built and tagged once, at its first request. */
export function staticContent(build: () => string | Buffer): (response: Response) => void {
  let built: { readonly content: string | Buffer; readonly tag: string } | undefined;
  return (response) => {
    if (built === undefined) {
      const content = build();
      built = { content, tag: contentTag(content) };
    }
    sendTagged(response, built.content, built.tag);
  };
}

/** Returns a sender of a JSON document that changes with a deployment alone. Clients store it, and ask for changes before each use. */
export function staticDocument(build: () => unknown): (response: Response) => void {
  const send = staticContent(() => JSON.stringify(build()));
  return (response) => send(response.type('json').set('Cache-Control', 'no-cache'));
}
