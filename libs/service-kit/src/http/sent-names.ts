import { AppError } from './errors.ts';
import type { RequestContext } from './route.ts';

/** Records the spellings that a request used for names with two, such as `phone_number` and `phoneNumber`. */
export class SentNames {
  readonly #sent = new Map<string, string>();

  /** Records that the field at a path was sent under another name. */
  add(path: string, sentName: string): void {
    this.#sent.set(path, sentName);
  }

  /** Returns a JSON pointer with the names as they were sent. */
  pointer(path: string): string {
    if (this.#sent.size === 0) return path;
    const parts = path.split('/');
    return parts.map((part, index) => this.#sent.get(parts.slice(0, index + 1).join('/')) ?? part).join('/');
  }

  /** Returns an error whose message and details use the names as they were sent. */
  error(error: AppError): AppError {
    const details = error.details.map(({ path, message }) => ({ path: this.pointer(path), message }));
    const renamed = error.details.find(({ path }, index) => path !== details[index]?.path);
    if (renamed === undefined) return error;
    const [before, after] = [renamed.path, this.pointer(renamed.path)].map((path) =>
      path.slice(1).replaceAll('/', '.'),
    );
    const message = error.message.replace(new RegExp(`^(The [a-z ]+ )${before}(?= )`), `$1${after}`);
    return new AppError(error.code, message, { cause: error.cause, headers: { ...error.headers }, details });
  }
}

const namesByContext = new WeakMap<RequestContext, SentNames>();

/** Returns the names that a request sent in its query and its body. */
export function getSentNames(context: RequestContext): SentNames {
  const names = namesByContext.get(context) ?? new SentNames();
  namesByContext.set(context, names);
  return names;
}
