import {
  type CSSVariablesResolver,
  createTheme,
  defaultVariantColorsResolver,
  type MantineColorsTuple,
} from '@mantine/core';
import { colors, toCssVariables } from './tokens.ts';

// Mantine requires ten shades; every component uses the one that the token gives.
const shades = (color: string): MantineColorsTuple => [
  color,
  color,
  color,
  color,
  color,
  color,
  color,
  color,
  color,
  color,
];

export const theme = createTheme({
  primaryColor: 'action',
  colors: { action: shades(colors.light.moving), critical: shades(colors.light.critical) },
  // White on the colours of the light theme, dark on the bright ones of the dark theme.
  variantColorResolver: (input) => {
    const resolved = defaultVariantColorsResolver(input);
    return input.variant === 'filled' ? { ...resolved, color: 'var(--fleet-surface)' } : resolved;
  },
  defaultRadius: 6,
  fontFamily: 'system-ui, sans-serif',
  fontSizes: { xs: '12px', sm: '14px', md: '14px', lg: '16px', xl: '20px' },
  spacing: { xs: '4px', sm: '8px', md: '12px', lg: '16px', xl: '24px' },
});

/** Points the variables of Mantine at the tokens. */
const mantineVariables = {
  '--mantine-color-body': 'var(--fleet-background)',
  '--mantine-color-text': 'var(--fleet-text)',
  '--mantine-color-dimmed': 'var(--fleet-muted-text)',
  '--mantine-color-default-border': 'var(--fleet-border)',
  '--mantine-color-default': 'var(--fleet-surface)',
  '--mantine-color-action-filled': 'var(--fleet-moving)',
  '--mantine-color-action-filled-hover': 'var(--fleet-moving)',
  '--mantine-color-critical-filled-hover': 'var(--fleet-critical)',
  '--mantine-color-action-text': 'var(--fleet-moving)',
  '--mantine-color-action-outline': 'var(--fleet-moving)',
  '--mantine-color-critical-filled': 'var(--fleet-critical)',
  '--mantine-color-critical-outline': 'var(--fleet-critical)',
  '--mantine-color-critical-text': 'var(--fleet-critical)',
  '--mantine-color-anchor': 'var(--fleet-moving)',
  '--mantine-color-error': 'var(--fleet-critical)',
};

export const resolveCssVariables: CSSVariablesResolver = () => ({
  variables: {},
  light: { ...toCssVariables('light'), ...mantineVariables },
  dark: { ...toCssVariables('dark'), ...mantineVariables },
});
