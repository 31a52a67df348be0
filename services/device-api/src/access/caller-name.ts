import type { VideoCaller } from '@fleet/service-kit';

/** Returns a text that is equal for requests of one user, key or share link. */
export function nameCaller(caller: VideoCaller): string {
  switch (caller.kind) {
    case 'user':
      return `user:${caller.userId}`;
    case 'key':
      return `key:${caller.keyId}`;
    case 'link':
      return `link:${caller.linkId}`;
    case 'anonymous':
      return caller.kind;
    default:
      return caller satisfies never;
  }
}
