import type { Phrases } from './phrases.ts'

export const english: Phrases = {
  offerings: [
    {
      ...{ category: 'dining', slug: 'afternoon-tea', title: 'Afternoon Tea', pounds: 32, by: 'people' },
      summary: 'Finger sandwiches, warm scones and a stand of small cakes, served from two until five.',
      includes: [
        'A pot of loose-leaf tea each',
        'Scones with clotted cream & preserves',
        'A seat by the window on request',
      ],
    },
    {
      ...{ category: 'dining', slug: 'tasting-menu', title: 'Seven-Course Tasting Menu', pounds: 85, by: 'people' },
      summary: 'Seven small courses that follow the season, with the kitchen in full view.',
      includes: ['Seven courses', 'Bread & cultured butter', 'A printed menu to take home'],
    },
    {
      ...{ category: 'dining', slug: 'sunday-roast', title: 'Sunday Roast', pounds: 28.5, by: 'people' },
      summary: 'The roast of the day with everything that belongs to it.',
      includes: ['Choice of two roasts or a nut Wellington', 'Pudding of the day'],
    },
    {
      ...{ category: 'dining', slug: 'cocktail-class', title: "Bartender's Masterclass", pounds: 42 },
      summary: 'Ninety minutes behind the bar: shake, stir and taste three cocktails.',
      includes: ['Three cocktails', 'A small plate to share', 'Recipe cards'],
    },
    {
      ...{ category: 'dining', slug: 'chefs-table', title: "Chef's Table Supper", pounds: 135 },
      summary: 'One table in the kitchen, eight seats, no menu.',
      includes: ['Ten or so courses', 'Wines to match', 'A word with the chef'],
    },
    {
      ...{ category: 'spa', slug: 'spa-day', title: 'Spa Day with Lunch', pounds: 115, by: 'people' },
      summary: 'A whole day of pools, steam and quiet, with lunch in your robe.',
      includes: ['Use of all pools & saunas from 9 to 6', 'A 50-minute treatment', 'Two-course lunch'],
    },
    {
      ...{ category: 'spa', slug: 'hot-stone-massage', title: 'Hot Stone Massage', pounds: 78 },
      summary: 'Seventy-five minutes with warm basalt, for shoulders that have had enough.',
      includes: ['75 minutes', 'Herbal tea afterwards'],
    },
    {
      ...{ category: 'spa', slug: 'twilight-spa', title: 'Twilight Spa', pounds: 49.5, by: 'people' },
      summary: 'The spa after dark: candles, salt and a glass of something cold.',
      includes: ['Entry from 6 to 9', 'A glass of sparkling wine'],
    },
    {
      ...{ category: 'stay', slug: 'bed-and-breakfast', title: 'Stay with Breakfast', pounds: 145, by: 'nights' },
      summary: 'A double room with a view, and breakfast until eleven.',
      includes: ['Double room for two', 'Full breakfast', 'Late check-out at noon'],
    },
    {
      ...{ category: 'stay', slug: 'dinner-and-stay', title: 'Dinner, Bed & Breakfast', pounds: 210, by: 'nights' },
      summary: 'Three courses, a good bed and nothing to do in the morning.',
      includes: ['Three-course dinner for two', 'Double room', 'Breakfast'],
    },
  ],
  themes: {
    '': '*',
    midweek: 'Midweek *',
    celebration: '* with Champagne',
    winter: 'Winter *',
    vegetarian: '*: the Green Edition',
    classic: 'Classic *',
  },
  cards: {
    'gift-card': 'Gift Card',
    'birthday-gift-card': 'Birthday Gift Card',
    'christmas-gift-card': 'Christmas Gift Card',
    'thank-you-gift-card': 'Thank-You Gift Card',
  },
  cardSummary: 'Let them choose: to be spent on anything we do.',
  cardIncludes: ['Sent by e-mail, or posted in an envelope', 'Spend it at once or bit by bit'],
  people: ['for one', 'for two', 'for four'],
  nights: ['one night', 'two nights', 'three nights'],
  terms: ['Please book ahead.', 'Not valid on bank holidays & in the week before Christmas.', 'Non-refundable.'],
  redemption: ['Show this voucher when you arrive.', "Quote the reference when you book; we'll do the rest."],
  categories: { cards: 'Gift Cards', dining: 'Food & Drink', spa: 'Spa', stay: 'Stays', season: "This Season's Ideas" },
}
