import { getErrorCode } from '../store/clip-directory.ts';

/** A failure as the camera is told it: code and sentence. What is no FtpError is told without its text, which could name paths of ours. */
export class FtpError extends Error {
  override readonly name = 'FtpError';
  readonly code: number;

  /** The code leads the message, as ftp-srv hands on nothing else of an error. */
  constructor(code: number, sentence: string, options: { cause?: unknown } = {}) {
    super(`${code} ${sentence}`, options);
    this.code = code;
  }
}

const codedMessage = /^([1-5]\d\d) (.+)$/;

/** True for the message of an FtpError. */
export const hasReplyCode = (text: string | undefined): boolean => text !== undefined && codedMessage.test(text);

/** The code and sentence of a reply that ftp-srv makes of an error; its own codes are right only where no FtpError was meant. */
export function toFailureReply(code: unknown, text: string | undefined): { code: number; text: string | undefined } {
  const coded = text === undefined ? null : codedMessage.exec(text);
  if (coded !== null) return { code: Number(coded[1]), text: coded[2] };
  if (typeof code !== 'number') return { code: 501, text: 'Not understood' };
  return { code, text: code === 550 || code === 451 || code === 425 ? 'Not possible' : text };
}

/** What a failed file operation is told as. */
export function toFtpError(error: unknown): FtpError {
  if (error instanceof FtpError) return error;
  const code = getErrorCode(error);
  if (code === 'ENOSPC' || code === 'EDQUOT') return new FtpError(452, 'No space left', { cause: error });
  if (code === 'ENOENT') return new FtpError(550, 'No such file or directory', { cause: error });
  if (code === 'ENAMETOOLONG') return new FtpError(553, 'Name too long', { cause: error });
  if (code === 'ENOTDIR' || code === 'EISDIR' || code === 'EEXIST' || code === 'ENOTEMPTY')
    return new FtpError(550, 'Not possible with this path', { cause: error });
  return new FtpError(451, 'Local error, try again', { cause: error });
}
