import { Button, Group } from '@mantine/core';
import { useTranslation } from 'react-i18next';

/** Shows the buttons below a form in a dialog: cancel and save. */
export function FormButtons({ isSaving, onCancel }: { isSaving: boolean; onCancel: () => void }) {
  const { t } = useTranslation();
  return (
    <Group justify="flex-end">
      <Button variant="default" onClick={onCancel}>
        {t('action.cancel')}
      </Button>
      <Button type="submit" loading={isSaving}>
        {t('action.save')}
      </Button>
    </Group>
  );
}
