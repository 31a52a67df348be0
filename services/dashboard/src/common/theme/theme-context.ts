import { createContext, useContext } from 'react';
import type { Theme } from './tokens.ts';

/** The theme that the page shows. */
export const ThemeContext = createContext<Theme>('light');

export const useTheme = (): Theme => useContext(ThemeContext);
