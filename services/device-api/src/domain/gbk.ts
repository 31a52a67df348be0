import { findUnencodableInGbk, gbkLength } from '@fleet/jt808';
import { AppError } from '@fleet/service-kit';

const maxNamedCharacters = 10;

/** Returns the size of a text in GBK; throws 400 with the characters that GBK lacks. */
export function measureGbkBytes(field: string, text: string): number {
  const missing = findUnencodableInGbk(text);
  if (missing.length === 0) return gbkLength(text);
  const descriptions = missing.slice(0, maxNamedCharacters).map(describeCharacter).join(', ');
  const more = missing.length > maxNamedCharacters ? ` and ${missing.length - maxNamedCharacters} more` : '';
  throw new AppError(
    'validation_failed',
    `The body field ${field} has characters that devices cannot show, as GBK lacks them: ${descriptions}${more}.`,
  );
}

/**
 * Returns whether a character is not printable alone: half a surrogate pair, a combining mark or an invisible
 * character.
 */
function describeCharacter(character: string): string {
  const code = `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;
  return /^[\p{L}\p{N}\p{P}\p{S}]$/u.test(character) ? `${character} (${code})` : code;
}
