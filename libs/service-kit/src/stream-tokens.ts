// An entry point of its own: only services with video load the cryptography of tokens.
export { checkStreamTokenSettings, streamTokenSettings } from './security/stream-token-settings.ts';
export {
  assertGranted,
  type StreamGrant,
  type StreamTokenKind,
  StreamTokens,
} from './security/stream-tokens.ts';
