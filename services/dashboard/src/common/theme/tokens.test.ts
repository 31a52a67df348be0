import { describe, expect, it } from '@jest/globals';
import { colors, type Theme, toCssVariables } from './tokens.ts';

/** Returns the relative luminance of a colour such as `#0A5BB5` (WCAG 2.2). */
function luminance(color: string): number {
  const channels = [1, 3, 5].map((at) => Number.parseInt(color.slice(at, at + 2), 16) / 255);
  const [red = 0, green = 0, blue = 0] = channels.map((value) =>
    value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4,
  );
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/** Returns the contrast of two colours, from 1 to 21 (WCAG 2.2). */
function contrast(one: string, other: string): number {
  const [darker = 0, lighter = 0] = [luminance(one), luminance(other)].toSorted((a, b) => a - b);
  return (lighter + 0.05) / (darker + 0.05);
}

describe.each<Theme>(['light', 'dark'])('the colours of the %s theme', (theme) => {
  const { background, surface, land, water, ...rest } = colors[theme];

  it.each(['text', 'mutedText', 'moving', 'idleText', 'critical'] as const)(
    'give %s a contrast of 4.5 on both surfaces',
    (name) => {
      expect(Math.min(contrast(rest[name], background), contrast(rest[name], surface))).toBeGreaterThanOrEqual(4.5);
    },
  );

  it.each(['moving', 'idle', 'stopped', 'offline', 'critical', 'inputBorder'] as const)(
    'give the mark %s a contrast of 3 on every background',
    (name) => {
      const backgrounds = name === 'inputBorder' ? [surface] : [surface, land, water];
      expect(Math.min(...backgrounds.map((color) => contrast(rest[name], color)))).toBeGreaterThanOrEqual(3);
    },
  );

  it('are CSS custom properties with names in lower case', () => {
    expect(toCssVariables(theme)).toMatchObject({ '--fleet-muted-text': rest.mutedText });
  });
});
