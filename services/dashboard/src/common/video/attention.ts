/** Whether somebody watches: tiles of a hidden page, and of one without input, stop to save data. */
type Attention = 'present' | 'hidden' | 'idle';

const hiddenMs = 15_000;
const idleMs = 15 * 60_000;
const inputEvents = ['pointerdown', 'pointermove', 'keydown', 'wheel', 'touchstart'] as const;

/** Follows the visibility of the page and the input of the user. */
class AttentionMonitor {
  #attention: Attention = 'present';
  #hiddenTimer: ReturnType<typeof setTimeout> | undefined;
  #idleTimer: ReturnType<typeof setTimeout> | undefined;
  readonly #listeners = new Set<(attention: Attention) => void>();

  /** Calls the listener with each change. Returns a function that removes it. */
  subscribe(listener: (attention: Attention) => void): () => void {
    if (this.#listeners.size === 0) this.#start();
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size === 0) this.#stop();
    };
  }

  #start(): void {
    this.#attention = 'present';
    document.addEventListener('visibilitychange', this.#onVisibility);
    for (const event of inputEvents) window.addEventListener(event, this.#onInput, { passive: true });
    this.#onInput();
  }

  #stop(): void {
    clearTimeout(this.#hiddenTimer);
    clearTimeout(this.#idleTimer);
    document.removeEventListener('visibilitychange', this.#onVisibility);
    for (const event of inputEvents) window.removeEventListener(event, this.#onInput);
  }

  readonly #onVisibility = (): void => {
    clearTimeout(this.#hiddenTimer);
    if (document.hidden) this.#hiddenTimer = setTimeout(() => this.#set('hidden'), hiddenMs);
    else this.#set('present');
  };

  readonly #onInput = (): void => {
    clearTimeout(this.#idleTimer);
    this.#idleTimer = setTimeout(() => this.#set('idle'), idleMs);
    if (this.#attention === 'idle') this.#set('present');
  };

  #set(attention: Attention): void {
    if (attention === this.#attention) return;
    this.#attention = attention;
    for (const listener of this.#listeners) listener(attention);
  }
}

export const attentionMonitor = new AttentionMonitor();
