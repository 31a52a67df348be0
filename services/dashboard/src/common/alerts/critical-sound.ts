/** Two tones, in hertz. */
const tones = [880, 660] as const;
const toneSeconds = 0.18;
const volume = 0.25;
/** Only one tab of the browser plays the sound of a burst. */
const lockName = 'fleet-critical-sound';
const lockMs = 2_000;

let context: AudioContext | null = null;

async function playTones(): Promise<void> {
  context ??= new AudioContext();
  await context.resume();
  const beginSeconds = context.currentTime;
  tones.forEach((frequency, at) => {
    if (context === null) return;
    const [oscillator, gain] = [context.createOscillator(), context.createGain()];
    oscillator.frequency.value = frequency;
    gain.gain.value = volume;
    oscillator.connect(gain).connect(context.destination);
    oscillator.start(beginSeconds + at * toneSeconds);
    oscillator.stop(beginSeconds + (at + 1) * toneSeconds);
  });
}

/** Plays the sound of critical events. Browsers are silent until the first click or key in a page. */
export async function playCriticalSound(): Promise<void> {
  // Locks exist only in secure contexts: HTTPS and loopback.
  if (navigator.locks === undefined) return playTones();
  await navigator.locks.request(lockName, { ifAvailable: true }, async (lock) => {
    if (lock === null) return;
    await playTones();
    await new Promise((resolve) => setTimeout(resolve, lockMs));
  });
}
