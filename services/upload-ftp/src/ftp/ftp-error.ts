import { getErrorCode } from '../store/clip-directory.ts';

/**
 * Reports a failure with the FTP reply code and text for the camera. The text of any other error is not sent, because
 * it could contain internal paths.
 */
export class FtpError extends Error {
  override readonly name = 'FtpError';
  readonly code: number;

  /** The message starts with the code, because ftp-srv passes on only the message of an error. */
  constructor(code: number, sentence: string, options: { cause?: unknown } = {}) {
    super(`${code} ${sentence}`, options);
    this.code = code;
  }
}

const codedMessage = /^([1-5]\d\d) (.+)$/;

/** Returns whether the text is the message of an FtpError. */
export const hasReplyCode = (text: string | undefined): boolean => text !== undefined && codedMessage.test(text);

/**
 * Returns the code and text of a reply for an error from ftp-srv. The codes of ftp-srv are correct only if the text
 * does not come from an FtpError.
 */
export function toFailureReply(code: unknown, text: string | undefined): { code: number; text: string | undefined } {
  const coded = text === undefined ? null : codedMessage.exec(text);
  if (coded !== null) return { code: Number(coded[1]), text: coded[2] };
  if (typeof code !== 'number') return { code: 501, text: 'Not understood' };
  return { code, text: code === 550 || code === 451 || code === 425 ? 'Not possible' : text };
}

/** Converts the error of a file operation to an FtpError. */
export function toFtpError(error: unknown): FtpError {
  if (error instanceof FtpError) return error;
  const code = getErrorCode(error);
  if (code === 'ENOSPC' || code === 'EDQUOT') return new FtpError(452, 'No space left', { cause: error });
  if (code === 'ENOENT') return new FtpError(550, 'No such file or directory', { cause: error });
  if (code === 'ENAMETOOLONG') return new FtpError(553, 'Name too long', { cause: error });
  if (code === 'ENOTDIR' || code === 'EISDIR' || code === 'EEXIST' || code === 'ENOTEMPTY')
    return new FtpError(550, 'Not possible for this path', { cause: error });
  return new FtpError(451, 'Local error, try again', { cause: error });
}
