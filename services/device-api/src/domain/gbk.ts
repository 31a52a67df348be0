import { gbkLength, unencodableInGbk } from '@fleet/jt808';
import { AppError } from '@fleet/service-kit';

const namedAtMost = 10;

/** Size of a text in the GBK of terminals; a 400 that names the characters which GBK does not have. */
export function gbkBytesOf(field: string, text: string): number {
  const missing = unencodableInGbk(text);
  if (missing.length === 0) return gbkLength(text);
  const named = missing.slice(0, namedAtMost).map(nameOf).join(', ');
  const more = missing.length > namedAtMost ? ` and ${missing.length - namedAtMost} more` : '';
  throw new AppError(
    'validation_failed',
    `The body field ${field} has characters that devices can not show, as GBK lacks them: ${named}${more}.`,
  );
}

/** Half a surrogate pair, a mark without a letter or an invisible character can not be shown by itself. */
function nameOf(character: string): string {
  const code = `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;
  return /^[\p{L}\p{N}\p{P}\p{S}]$/u.test(character) ? `${character} (${code})` : code;
}
