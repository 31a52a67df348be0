import { hasReplyCode, toFailureReply } from './ftp-error.ts';
import type { Connection } from './ftp-srv-internals.ts';

/**
 * Replaces failure replies: sends the code and text of an FtpError, and hides the text of any other error, which could
 * contain internal paths. `findFailure` returns the failure of the running transfer.
 */
export function sanitizeReplies(connection: Connection, findFailure: () => string | undefined): void {
  const reply = connection.reply.bind(connection);
  connection.reply = (options: unknown, ...letters: unknown[]) => {
    const text = typeof letters[0] === 'string' ? letters[0] : undefined;
    if (typeof options === 'object' || letters.length > 1 || (typeof options === 'number' && options < 400))
      return reply(options, ...letters);
    // ftp-srv reports the socket error, which is only the consequence of this failure.
    const cause = options === 550 && !hasReplyCode(text) ? findFailure() : undefined;
    const failure = toFailureReply(options, cause ?? text);
    return failure.text === undefined ? reply(failure.code) : reply(failure.code, failure.text);
  };
}
