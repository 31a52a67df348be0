import { useTranslation } from 'react-i18next';
import type { NamedGroup } from '../../common/fleet/folder-tree.ts';

/** Options collapse ordinary spaces. */
const indent = '\u00A0\u00A0';

/** Returns the options of a field that chooses a group; the first one is the top level. */
export function useGroupOptions(groups: readonly NamedGroup[]): { value: string; label: string }[] {
  const { t } = useTranslation('groups');
  return [
    { value: '', label: t('topLevel') },
    ...groups.map(({ id, name, depth }) => ({ value: String(id), label: `${indent.repeat(depth)}${name}` })),
  ];
}
